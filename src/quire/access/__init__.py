"""Who may come in, and how often: keys and limits."""
