"""Question analysis, before the search."""
