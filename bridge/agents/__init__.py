"""Agent definitions: what an agent is told, may do and must answer."""
