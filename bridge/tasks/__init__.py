"""Tasks of a project, in one SQLite file: claims, dependencies, expansion, validation."""
