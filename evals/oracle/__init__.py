"""Characterization tests: records of the behaviour of the product, compared across versions."""
