"""Git worktrees, commits and merges, without starting git."""
