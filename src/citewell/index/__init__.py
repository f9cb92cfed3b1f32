"""Vectors in, hits out."""
