"""What tools make, and no question is about. Pure."""

MADE = frozenset({
    "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", ".hypothesis", ".idea", ".cache",
})  # fmt: skip
GIT = ".git"
# Where a look at everything does not go.
LEFT_OUT = MADE | {GIT}
# What the project's answers rest on: to write it changes none of them.
LOCK = "answers.lock"
