"""The route `claude -p`: one client, headless, for one request."""
