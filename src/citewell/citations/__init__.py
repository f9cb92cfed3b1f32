"""Verbatim quotes, and deep links to them."""
