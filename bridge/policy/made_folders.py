"""What tools make, and no question is about. Pure.

In `.claude/settings.local.json` the client, and `hostbridge install`, keep what is one
user's on one machine.
"""

MADE = frozenset({
    "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", ".hypothesis", ".idea", ".cache",
})  # fmt: skip
GIT = ".git"
# Where a look at everything does not go.
LEFT_OUT = MADE | {GIT}
# What the project's answers rest on: to write it changes none of them.
LOCK = "answers.lock"
_LOCAL_SETTINGS = ".claude/settings.local.json"


def is_left_out(path: str) -> bool:
    """Whether a look at everything leaves out a file, by its path."""
    name = path.rpartition("/")[2]
    return name == LOCK or f"/{path}".endswith(f"/{_LOCAL_SETTINGS}")
