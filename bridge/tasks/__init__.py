"""Tasks of a project, in one SQLite file, and the tools that work on them."""
