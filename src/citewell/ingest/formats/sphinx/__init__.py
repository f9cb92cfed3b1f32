"""Sphinx and Jupyter books: reStructuredText, MyST and notebooks, without Sphinx."""
