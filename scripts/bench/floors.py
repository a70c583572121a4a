"""The cheapest processes of their kind, as floors for hooks and commands."""

from __future__ import annotations

import sys

_LIBRARY = """
import orjson
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel

class Model(BaseModel):
    name: str

template = SandboxedEnvironment().from_string("hello {{ name }}")
orjson.dumps(template.render(name=Model(name="x").name))
"""
FLOORS = {
    "shell": ["/bin/sh", "-c", ":"],
    "python": [sys.executable, "-I", "-S", "-c", "import json, os"],
    "library": [sys.executable, "-I", "-c", _LIBRARY],
}
