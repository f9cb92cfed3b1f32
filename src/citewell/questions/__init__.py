"""What a question means before anything is searched."""
