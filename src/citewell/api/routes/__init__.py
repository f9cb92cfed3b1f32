"""The addresses of the service, one subject each."""
