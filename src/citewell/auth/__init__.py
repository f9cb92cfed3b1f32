"""API keys and rate limits: who may call the service, and how often."""
