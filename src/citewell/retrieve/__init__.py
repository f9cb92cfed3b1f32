"""Retrieval: hybrid search, reranking, and calibrated scores."""
