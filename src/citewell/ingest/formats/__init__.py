"""Book formats: each one gives the same pages and sections."""
