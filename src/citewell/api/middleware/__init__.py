"""The middleware of the application."""
