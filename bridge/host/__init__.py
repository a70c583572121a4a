"""The Claude Code side: what each hook event means for the requests of a project."""
