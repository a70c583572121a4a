"""One queue for several machines, on Redis: to ask over it, and to answer from it."""
