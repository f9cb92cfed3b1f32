"""Evaluations on question sets."""
