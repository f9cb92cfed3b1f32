"""Built sites and single pages of HTML."""
