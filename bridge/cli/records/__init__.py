"""Commands that look at requests and their records."""
