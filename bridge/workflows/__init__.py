"""Step workflows in YAML: read, checked, compiled for the hooks."""
