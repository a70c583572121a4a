"""Pieces of source, found by name: what `file.py::Class.method` means."""
