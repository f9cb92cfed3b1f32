"""Answer and passages to verdicts."""
