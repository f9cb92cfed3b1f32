"""Quotes and deep links: the exact words of the book, and where they stand."""
