"""Pipelines in YAML, compiled to the plans that the engine runs."""
