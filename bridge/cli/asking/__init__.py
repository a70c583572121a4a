"""Commands that ask, wait, reply and cancel."""
