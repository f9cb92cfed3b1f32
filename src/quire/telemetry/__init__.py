"""What the service tells its operator about itself."""
