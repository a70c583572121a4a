"""A model of this machine: llama.cpp in a process of its own, held to a JSON Schema.

Only imported where the local route is used. Of the modules here only those that run in
the worker (`llama`, `decoding`, `shape`, `worker`) need the extra; the others read a
model's header, start the worker and talk to it.
"""
