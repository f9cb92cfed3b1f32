"""The version of Citewell."""

__version__ = "0.1.0"
