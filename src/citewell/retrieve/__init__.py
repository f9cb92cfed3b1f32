"""Question to ranked passages, and whether they hold the answer."""
