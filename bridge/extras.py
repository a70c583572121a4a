"""How to add an optional part to the hostbridge that runs, from where it came from.

Before a package is on an index, `pip install hostbridge[…]` finds nothing, or somebody
else's package.

llama.cpp, of the extra `local`, is compiled. By itself it is made for the processor at
hand; another one may end it by SIGILL, and so may the same one if compiler and kernel
disagree about its tiles (AMX). Here it is made for all of the last ten years, and never
taken from pip's cache, which does not know for which processor a wheel was made.

Run as a program, which needs only Python, it prints the arguments for CMake.

Source: PyPA specifications, "Recording the Direct URL Origin"; llama.cpp,
ggml/CMakeLists.txt, "instruction set specific".
"""

import json
import os
import platform
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

_COMPILED = "local"
_LLAMA = "llama-cpp-python"
_UNCACHED = "--no-cache-dir"
_FEATURES = Path("/proc/cpuinfo")
# What GGML_NATIVE=OFF alone asks of an x86-64. Intel's have it since 2013, AMD's since
# 2017. The smallest ones, and virtual machines that hide it, have only SSE 4.2, which
# numpy asks for, too.
_AVX2 = {"avx": "AVX", "avx2": "AVX2", "fma": "FMA", "f16c": "F16C", "bmi2": "BMI2"}
# A 64-bit ARM without it, such as a Raspberry Pi 4, has only what compilers assume.
_DOT_PRODUCT = "asimddp"


def how_to_add(extra: str) -> str:
    """The command that adds an extra to this installation."""
    # Not at the top: slow to import, and only an error needs it.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = distribution("hostbridge").read_text("direct_url.json")
    except PackageNotFoundError:
        origin = None
    command = f"{_installer()} {_requirement(extra, origin)}"
    return command if extra != _COMPILED else f"{_variables()} {command} {_UNCACHED}"


def how_to_rebuild() -> str:
    """The command that compiles the installed llama.cpp again, for this processor."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        wanted = f"{_LLAMA}=={version(_LLAMA)}"
    except PackageNotFoundError:
        return how_to_add(_COMPILED)
    options = f"{_UNCACHED} --force-reinstall --no-deps --no-binary {_LLAMA}"
    # The user's own may name one processor.
    return f"CFLAGS= CXXFLAGS= {_variables()} {_installer()} {wanted} {options}"


def cmake_args() -> str:
    """Arguments with which CMake makes llama.cpp for most processors, and this one."""
    args = ["-DGGML_NATIVE=OFF"]
    # Elsewhere than on Linux it is for the oldest that the system supports.
    try:
        features = set(_FEATURES.read_text(errors="replace").split())
    except OSError:
        features = set(_AVX2)
    machine = platform.machine()
    if machine == "x86_64" and not features.issuperset(_AVX2):
        args += [f"-DGGML_{name}=OFF" for name in _AVX2.values()]
    elif machine == "aarch64" and _DOT_PRODUCT in features:
        args.append("-DGGML_CPU_ARM_ARCH=armv8.2-a+dotprod")
    return " ".join(args)


def _variables() -> str:
    return f"CMAKE_ARGS={shlex.quote(cmake_args())}"


def _installer() -> str:
    """`pip install`, for the environment of this interpreter."""
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:
        return f"uv pip install --python {python}"
    pip = shutil.which("pip")
    if pip is not None and os.path.dirname(pip) == os.path.dirname(sys.executable):
        return "pip install"
    # -P: no folder `pip` is imported from where it is typed.
    return f"{python} -P -m pip install"


def _requirement(extra: str, origin: str | None) -> str:
    """What to install, by the content of `direct_url.json`; None: from an index."""
    facts = json.loads(origin or "{}")
    url = facts.get("url", "")
    if "dir_info" in facts:
        flag = "-e " if facts["dir_info"].get("editable") else ""
        return flag + shlex.quote(f"{unquote(urlsplit(url).path)}[{extra}]")
    if vcs := facts.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    name = f"hostbridge[{extra}]"
    return shlex.quote(f"{name} @ {url}" if url else name)


if __name__ == "__main__":
    sys.stdout.write(f"{cmake_args()}\n")
