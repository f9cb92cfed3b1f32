"""Streamed answers that outlive a dropped connection."""
