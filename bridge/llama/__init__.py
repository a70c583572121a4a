"""A model on this machine: llama.cpp in its own process, held to a JSON Schema.

Only the local route imports this. The modules that run in the worker (`runtime`,
`reply`, `decode`, `grammar`, `model_worker`) need the extra. The others read a model's
header, start the worker and talk to it.
"""
