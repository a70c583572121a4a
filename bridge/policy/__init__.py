"""Permissions and patterns: what an agent may do, as pure functions of plain values."""
