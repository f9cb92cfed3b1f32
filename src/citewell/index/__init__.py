"""Search indexes: dense and keyword vectors on an embedded Qdrant engine or a Qdrant server."""
