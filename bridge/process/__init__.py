"""Work that is bounded: programs that we start, and blocks of our own code."""
