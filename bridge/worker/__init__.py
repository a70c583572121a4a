"""Answer requests in a process of our own: claim one, run its executor, publish."""
