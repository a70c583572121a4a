"""A model behind an OpenAI-compatible server: llama-server, vLLM, Ollama."""
