"""The engine: runs of plans, advanced step by step, by whoever looks."""
