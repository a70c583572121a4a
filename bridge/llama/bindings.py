"""llama.cpp's C functions, without the rest of their package.

llama-cpp-python loads its own chat formats, caches and models with its first name:
0.1 s in each worker, for code that nothing here calls. The module of the C functions
stands by itself; it only wants its package to be there.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec, module_from_spec

_PACKAGE = "llama_cpp"


class LoadFailed(Exception):
    """llama.cpp refuses the model; why, it wrote to stderr."""


def load_quickly() -> None:
    """Have `import llama_cpp.llama_cpp` load no more; for the worker alone."""
    spec = find_spec(_PACKAGE)
    if spec is not None and _PACKAGE not in sys.modules:
        # Made, with its folder, but not executed.
        sys.modules[_PACKAGE] = module_from_spec(spec)


def build() -> str:
    """Tells the installed library from every other: by size and time of its file.

    Its version would tell less, and `importlib.metadata` takes long to load.
    """
    import llama_cpp.llama_cpp as lib

    facts = os.stat(lib._lib._name)  # noqa: SLF001 - as llguidance does
    return f"{facts.st_size} {facts.st_mtime_ns}"
