"""Asking: choose a route, submit, wait, return a typed result. The public API."""
