"""A model of this machine: llama.cpp in a process of its own, held to a JSON Schema.

Only the local route imports it. The modules that run in the worker (`runtime`, `reply`,
`decode`, `grammar`, `model_worker`) need the extra; the others read a model's header,
start the worker and talk to it.
"""
