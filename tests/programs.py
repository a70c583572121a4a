"""What a program says, such as the command line in a process of its own."""

import subprocess
import sys

MODULES = {"type": "object", "required": ["modules"]}


def ran(*words, **how):
    """What a program says, and its exit code."""
    return subprocess.run(words, capture_output=True, text=True, check=False, **how)


def command(*words):
    return ran(sys.executable, "-m", "bridge", *words)


def loaded_by(code, *flags):
    """Names of the modules that a fresh interpreter has after running `code`."""
    done = ran(sys.executable, *flags, "-c", f"import sys\n{code}\nprint(*sys.modules)")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())
