"""Docusaurus sites, read from their sources without running them."""
