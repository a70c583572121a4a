"""Rules files: read, checked, put in layers, and compiled for the hooks."""
