"""Question to events: the pipeline, and the agent inside it."""
