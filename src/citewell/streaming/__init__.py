"""Resumable streams of answers, which survive a dropped connection."""
