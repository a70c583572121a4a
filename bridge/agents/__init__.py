"""Agent definitions: its instructions, its rights, the form of its answer."""
