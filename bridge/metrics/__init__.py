"""What became of all that was asked: counts, times and tokens, from the journal."""
