"""Measuring answers on question sets."""
