"""Book files to indexed chunks."""
