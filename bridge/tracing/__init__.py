"""The journal as OpenTelemetry spans: what asked what, and how long each took."""
