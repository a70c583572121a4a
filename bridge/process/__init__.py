"""Programs that we start: bounded in time and output, and gone when we are."""
