"""For tests of other programs.

`bridge.testing.stage` is the real Claude Code client with a scripted model: authors of
hooks and plugins see by it what theirs do. Nothing that hostbridge does at run time
imports any of this.
"""
