"""Commands that install, configure, check and serve."""
