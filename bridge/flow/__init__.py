"""The flow language: its text, its syntax tree, and the graph it stands for."""
