"""Which commands a definition grants: its `allow` rules against one command line.

Pure. A granted command runs without a shell, so nothing that only a shell understands
is ever granted: the rule was written for one program, not for what comes after it.

Source: Claude Code, permission rules: `Bash`, `Bash(exact)`, `Bash(prefix:*)`,
`Bash(words *)`, where `*` stands for anything and a space before it ends a word.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Any

from bridge.policy.command_options import (
    NamedOptions,
    is_about,
    pattern_of,
    read_named,
    why_not_covered,
)
from bridge.policy.permissions import (
    command_pattern,
    command_specs,
    why_no_rule_covers,
)
from bridge.policy.shell_syntax import shell_sign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.policy.command_options import IsInside

MAX_COMMAND_CHARS = 1_000
# Of the options that a rule names, where it is told in a line.
MAX_SHOWN = 4

_PLAIN_WORD = "[A-Za-z0-9_./:=@%+,-]"
_PLAIN = "[A-Za-z0-9_./:=@%+, -]{0,120}"


def looks_inside(path: str) -> bool:
    """Whether a path, as it is written, stays below where it is told from."""
    return not f"{posixpath.normpath(path)}/".startswith(("/", "../"))


class NotGranted(ValueError):
    """The command may not run; `str()` tells the model why."""


class Grants:
    """The commands that the `allow` rules of a definition grant.

    Rules about other tools are none of ours and are left out. `is_inside` says whether
    a path of a command lies in the project.
    """

    def __init__(
        self, allow: Sequence[str], is_inside: IsInside = looks_inside
    ) -> None:
        self._is_inside = is_inside
        self._rules = tuple((spec or "*").strip() for spec in command_specs(allow))
        read = [(rule, read_named(rule)) for rule in self._rules]
        self._named = tuple(n for _, n in read if isinstance(n, NamedOptions))
        self._patterns = tuple(command_pattern(r) for r, n in read if n is None)

    def __bool__(self) -> bool:
        return bool(self._rules)

    @property
    def words(self) -> str:
        """The rules, as a model or a person reads them."""
        return ", ".join(f"`{_shown(rule)}`" for rule in self._rules)

    def argv(self, command: str) -> list[str]:
        """The arguments of a granted command.

        Raises:
            NotGranted: no rule grants it, or it needs a shell.
        """
        if len(command) > MAX_COMMAND_CHARS:
            raise NotGranted(f"a command has at most {MAX_COMMAND_CHARS} characters")
        argv = _split(command)
        if (odd := shell_sign(command)) is not None:
            raise NotGranted(
                f"{odd!r} is never granted: one program and its arguments, no shell"
            )
        if not argv or not argv[0]:
            raise NotGranted("the command is empty")
        if self._is_covered(command, argv):
            return argv
        inside = self._is_inside
        if why := why_no_rule_covers(self._rules, command, inside):
            raise NotGranted(f"{command!r} is not granted: {why}")
        raise NotGranted(f"{command!r} is not granted; granted: {self.words}")

    def _is_covered(self, command: str, argv: list[str]) -> bool:
        for rule in self._named:
            if is_about(rule, command) and not why_not_covered(
                rule, command, self._is_inside
            ):
                return True
        # Quoted again: a space inside an argument is not the space of a rule.
        plain = shlex.join(argv)
        said = " ".join(command.split())
        # Without a space at its end, a command may end in a backslash.
        if _split(said) != argv:
            # There are spaces that part no arguments: those in quotes, and those of
            # Unicode, where `pytest\u3000x` is one program and not pytest.
            said = plain
        return any(p.fullmatch(plain) or p.fullmatch(said) for p in self._patterns)

    def parameters(self, *, is_held_to_rules: bool = False) -> dict[str, Any]:
        """What a model may write as the command: a JSON Schema for a string.

        `is_held_to_rules`: it can write nothing else than what is granted. Otherwise
        it may try, and is told.
        """
        is_exact = not self._named and not any("*" in rule for rule in self._rules)
        if self._rules and is_exact:
            return {"enum": list(dict.fromkeys(self._rules))}
        if is_held_to_rules and "*" not in self._rules:
            granted = dict.fromkeys(map(_narrow, self._rules))
            return {"type": "string", "pattern": f"^(?:{'|'.join(granted)})$"}
        return {"type": "string", "minLength": 1, "maxLength": 300}


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as exc:
        raise NotGranted(f"cannot be read as a command: {exc}") from None


def _shown(rule: str) -> str:
    named = read_named(rule)
    if isinstance(named, NamedOptions):
        # All of them would be most of what a small model is told.
        listed = rule.partition(" [")[2].partition("]")[0].split()
        more = " …" if len(listed) > MAX_SHOWN else ""
        options = f"[{' '.join(listed[:MAX_SHOWN])}{more}]"
        end = " *" if named.takes_operands else ""
        return f"{' '.join(named.words)} {options}{end}"
    return f"{rule[:-2]} *" if rule.endswith(":*") else rule


def _narrow(rule: str) -> str:
    """The rule as a pattern with an end, for plain words without quotes."""
    named = read_named(rule)
    if isinstance(named, NamedOptions):
        return pattern_of(named)
    rule = _shown(rule)
    if rule.endswith(" *"):
        return _stars(rule[:-2], _PLAIN) + f"(?: {_PLAIN_WORD}{_PLAIN})?"
    return _stars(rule, _PLAIN)


def _stars(text: str, star: str = ".*") -> str:
    return star.join(re.escape(part) for part in text.split("*"))
