"""What a permission rule lets an agent do, in plain words. Pure.

To grant a program is to grant everything that its options can do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.policy.command_options import NamedOptions, read_named

if TYPE_CHECKING:
    from bridge.policy.permission_rules import Rule

_RUN, _WRITE, _READ, _NET = (
    "run other programs",
    "write any file",
    "read any file",
    "reach the network",
)
_ALL = (_RUN, _WRITE, _READ, _NET)
# Each line: what the programs on it can do, by some option or by their purpose.
_PROGRAMS: dict[tuple[str, ...], str] = {
    _ALL: """
        bash sh zsh dash fish python python3 node deno bun perl ruby php env xargs sudo
        ssh make npm npx pnpm yarn cargo go git gh docker uv uvx pip pip3 pipx poetry
        hatch tox nox pre-commit bundle gem rake mvn gradle cmake ninja dotnet vim vi
        tmux screen kubectl terraform psql mysql rsync scp openssl gcc g++ clang just
        task
    """,
    (_WRITE, _READ, _NET): "curl wget nc ftp",
    (_RUN, _WRITE, _READ): """
        find fd tar zip unzip sed awk gawk sort split sqlite3 man less time timeout nice
        watch pytest py.test coverage mypy pylint eslint jest vitest tsc rustc javac rg
    """,
    (_WRITE, _READ): """
        ruff black isort flake8 prettier gofmt rustfmt cp mv tee dd ln install touch
        truncate tree uniq xxd
    """,
    ("change any file",): "rm rmdir shred chmod chown",
    (_READ,): """
        cat head tail grep egrep fgrep ls wc diff cmp jq stat file du od strings cut nl
    """,
    (): "echo true false pwd date whoami which",
}
_CAN = {name: can for can, names in _PROGRAMS.items() for name in names.split()}
# They run what the project says, whatever the options: tests, scripts, plugins that its
# configuration names. Those in the last line run the command in their operands.
_RUNNERS = """
    pytest py.test tox nox make npm npx pnpm yarn cargo go rake mvn gradle just task
    jest vitest unittest eslint prettier pre-commit hatch coverage mypy dmypy pylint
    flake8 sphinx-build mkdocs cmake ninja bundle rspec rubocop phpunit composer dotnet
    env time timeout nice xargs sudo uv uvx pipx poetry pdm
"""
# They run the file that they are given, unless they have this option.
_INTERPRETERS = {
    **dict.fromkeys(("bash", "sh", "dash", "zsh"), "-n"),
    **dict.fromkeys(("perl", "ruby", "deno", "bun")),
    "node": "--check",
    "php": "-l",
}
# They take options from the project's configuration, such as `fix = true` in ruff.toml.
_CONFIGURED = frozenset({"ruff", "black", "isort", "prettier", "rustfmt", "tsc", "rg"})
# Rules for a whole tool.
_WHOLE = {
    "Read": "reads any file, also outside the project",
    **dict.fromkeys(
        ("Edit", "Write", "MultiEdit", "NotebookEdit"),
        "changes any file, also outside the project",
    ),
    "WebFetch": "reaches any address",
    "Agent": "starts any agent",
}
_OWN = "runs the project's own programs"


def what_it_lets(rule: Rule) -> str | None:
    """What a rule lets an agent do; None if the rule itself says it."""
    if rule.tool != "Bash":
        return None if rule.spec else _WHOLE.get(rule.tool)
    if rule.spec is None:
        return "every command: all that you can do yourself"
    program = _program(rule.spec)
    own = f", and {_OWN}" if _runs_own(rule.spec) else ""
    if isinstance(named := read_named(rule.spec), NamedOptions):
        words = rule.spec.partition(" [")[0].split()
        if program in _CONFIGURED and "--isolated" not in words:
            own += ", and what the project's configuration says"
        if named.variables:
            own += f", and whatever {', '.join(named.variables)} can make of it"
        return f"only the options named, inside the project{own}"
    if "*" not in rule.spec:
        return f"this command alone{own}"
    if not program or "*" in program:
        return "whatever a program whose name fits can do"
    can = _CAN.get(program)
    if can is None:
        return f"whatever {program} can do with any option"
    if not can:
        return f"{program} with any option"
    return f"{program} with any option, which can {_joined(can)}{own}"


def is_wide(rule: Rule) -> bool:
    """Whether some option lets the program do more than read."""
    if rule.tool != "Bash" or rule.spec is None or "*" not in rule.spec:
        return False
    if read_named(rule.spec) is not None:
        return False
    return bool(set(_CAN.get(_program(rule.spec), ())) - {_READ})


def _program(spec: str) -> str:
    words = spec.removesuffix(":*").split()
    return words[0].rpartition("/")[2] if words else ""


def _runs_own(spec: str) -> bool:
    """Whether a command runs the project's own code, judging by its words."""
    words = spec.partition(" [")[0].removesuffix(":*").split()
    if not words:
        return False
    program = _program(spec)
    if "/" in words[0] and not words[0].startswith("/"):
        return True
    if re.fullmatch(r"python[0-9.]*", program):
        module = words[words.index("-m") + 1 :][:1] if "-m" in words else []
        # Without -I, a module of the project hides one of Python's own.
        return "-I" not in words or not module or module[0] in _RUNNERS.split()
    if program in _INTERPRETERS:
        return _INTERPRETERS[program] not in words
    return program in _RUNNERS.split()


def _joined(can: tuple[str, ...]) -> str:
    *first, last = can
    return f"{', '.join(first)} and {last}" if first else last
