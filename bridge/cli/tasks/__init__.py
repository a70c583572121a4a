"""The command `task`."""
