"""Verification of answers against the passages."""
