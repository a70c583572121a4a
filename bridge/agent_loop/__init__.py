"""The loop of turns that answers a request with a model at hand."""
