"""Check a command against `allow` rules: a line of a model's, or an argv. Pure.

A granted command runs without a shell, so nothing that only a shell understands is ever
granted in a line: a rule is about one program, not about what follows it. An argv is
held to the same rules, and means the same.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridge.policy.command_options import (
    NamedOptions,
    pattern_of,
    read_named,
    variable_not_covered,
)
from bridge.policy.command_rules import Command, covers, why_not
from bridge.policy.permission_rules import command_specs
from bridge.policy.wrapper_table import Argv, Script
from bridge.policy.wrappers import unwrap
from bridge.protocol.wording import shortened

if TYPE_CHECKING:
    from bridge.policy.command_options import IsInside

MAX_COMMAND_CHARS = 1_000
# How many options of a rule are listed.
MAX_SHOWN = 4

# How much of a command a message shows.
_SHOWN_CHARS = 200
_PLAIN_WORD = "[A-Za-z0-9_./:=@%+,-]"
_PLAIN = "[A-Za-z0-9_./:=@%+, -]{0,120}"


def looks_inside(path: str) -> bool:
    """Whether a relative path, without looking at links, stays in its folder."""
    return not f"{posixpath.normpath(path)}/".startswith(("/", "../"))


def refusal(
    argv: Sequence[str],
    rules: Sequence[str],
    is_inside: IsInside = looks_inside,
    *,
    computed: Collection[int] = (),
    env: Mapping[str, str | None] | None = None,
) -> str | None:
    """Why `rules` do not grant a program that is started without a shell.

    None if they do. A rule means what it means for an agent's command, and a word of
    `argv` is a word of it, whatever is in it. As no shell reads the words, their signs
    (`;`, `|`, a line's end) count only where a `*` would cover them: `find . -name *`
    does not cover `-exec … ;`. `is_inside` says whether a path, as written and relative
    to where the program starts, lies in the project. `computed` are the places of words
    that begin with what somebody has answered: such a word may be an option only where
    a rule names that option. `env` are the variables that are set for it, with None for
    a value that is not known yet.
    """
    if not argv or not argv[0]:
        return "the command is empty"
    if any("\0" in word for word in argv):
        return "a word of the command holds a NUL byte, which no program can be given"
    specs = [spec or "*" for spec in command_specs(rules)]
    started = Command.of_argv(argv)
    shown = repr(_cut(shlex.join(argv)))
    if not specs:
        return f"{shown} is not granted: no rule grants a program, as Bash(pytest *)"
    data = _option_of_data(argv, computed)
    if data is not None:
        specs = [spec for spec in specs if "*" not in spec or read_named(spec)]
        if not specs:
            return (
                f"{shown} is not granted: {_cut(data)!r} comes from an answer, and "
                "would be an option; write `--` before it, or grant it by name, as "
                "Bash(git commit [-m=*])"
            )
    try:
        fitting = [each for each in specs if covers(each.strip(), started, is_inside)]
        if fitting:
            unset = [_variable(spec, env or {}) for spec in fitting]
            return None if None in unset else _not_set(unset[0], fitting[0])
        why = why_not(specs, started, is_inside)
    except ValueError as exc:
        return f"{shown} is not granted: {exc}"
    return f"{shown} is not granted{_reason(why, started, specs)}"


def _variable(spec: str, env: Mapping[str, str | None]) -> str | None:
    """The first variable that a rule does not let a program have."""
    if spec == "*" and not any(name.startswith("BRIDGE_") for name in env):
        return None
    named = read_named(spec)
    rule = named if isinstance(named, NamedOptions) else None
    return variable_not_covered(rule, env)


def _not_set(name: str | None, spec: str) -> str:
    words = spec.partition(" [")[0].partition("*")[0].strip()
    return (
        f"`env` sets {name}, which can make the program another than the one that is "
        f"granted; leave it out, or name it: Bash({words} [{name}=*] *)"
    )


def _option_of_data(argv: Sequence[str], computed: Collection[int]) -> str | None:
    """The first word that would be an option because of an answer."""
    for place, word in enumerate(argv):
        if place not in computed:
            if word == "--":
                return None
        elif word[:1] in ("-", "+") and word != "-":
            return word
    return None


def _reason(why: str | None, command: Command, specs: Sequence[str]) -> str:
    if why:
        return f": {why}"
    if command.sign is not None:
        return (
            f": no `*` covers {command.sign!r}; a rule that names its options does, as "
            "Bash(git commit [-m=*])"
        )
    listed = ", ".join(f"`{_shown(spec)}`" for spec in specs)
    for one in unwrap([*command.argv]):
        if isinstance(one, Argv | Script):
            inner = one.text if isinstance(one, Script) else shlex.join(one.words)
            return (
                f"; granted: {listed}. It starts {_cut(inner)!r}: a rule for that alone"
                f" does not cover {command.argv[0]!r}"
            )
    return f"; granted: {listed}"


def _cut(text: str) -> str:
    return shortened(text, _SHOWN_CHARS)


class NotGranted(ValueError):
    """The command may not run; the message tells the model why."""


class Grants:
    """The commands that the `allow` rules of a definition grant.

    Rules about other tools are ignored. `is_inside` says whether a path in a command
    lies in the project.
    """

    def __init__(
        self, allow: Sequence[str], is_inside: IsInside = looks_inside
    ) -> None:
        self._is_inside = is_inside
        self._rules = tuple((spec or "*").strip() for spec in command_specs(allow))

    def __bool__(self) -> bool:
        return bool(self._rules)

    @property
    def words(self) -> str:
        """The rules, for a model or a person to read."""
        return ", ".join(f"`{_shown(rule)}`" for rule in self._rules)

    def argv(self, command: str) -> list[str]:
        """The arguments of a granted command.

        Raises:
            NotGranted: no rule grants it, or it needs a shell.
        """
        if len(command) > MAX_COMMAND_CHARS:
            raise NotGranted(f"a command has at most {MAX_COMMAND_CHARS} characters")
        try:
            words = Command.of_words(command)
        except ValueError as exc:
            raise NotGranted(f"cannot be read as a command: {exc}") from None
        if words.sign is not None:
            raise NotGranted(
                f"{words.sign!r} is never granted: one program and its arguments, no "
                "shell"
            )
        if not words.argv or not words.argv[0]:
            raise NotGranted("the command is empty")
        if any(covers(rule, words, self._is_inside) for rule in self._rules):
            return [*words.argv]
        if why := why_not(self._rules, words, self._is_inside):
            raise NotGranted(f"{command!r} is not granted: {why}")
        raise NotGranted(f"{command!r} is not granted; granted: {self.words}")

    def parameters(self, *, is_held_to_rules: bool = False) -> dict[str, Any]:
        """The JSON Schema of a command, for a model.

        With `is_held_to_rules`, it allows nothing that is not granted. Otherwise a
        model may try other commands, and gets an error.
        """
        is_exact = not any("*" in rule or read_named(rule) for rule in self._rules)
        if self._rules and is_exact:
            return {"enum": list(dict.fromkeys(self._rules))}
        if is_held_to_rules and "*" not in self._rules:
            granted = dict.fromkeys(map(_narrow, self._rules))
            return {"type": "string", "pattern": f"^(?:{'|'.join(granted)})$"}
        return {"type": "string", "minLength": 1, "maxLength": 300}


def _shown(rule: str) -> str:
    named = read_named(rule)
    if isinstance(named, NamedOptions):
        # All of them would be most of what a small model reads.
        listed = rule.partition(" [")[2].partition("]")[0].split()
        more = " …" if len(listed) > MAX_SHOWN else ""
        options = f"[{' '.join(listed[:MAX_SHOWN])}{more}]"
        end = " *" if named.takes_operands else ""
        return f"{' '.join(named.words)} {options}{end}"
    return f"{rule[:-2]} *" if rule.endswith(":*") else rule


def _narrow(rule: str) -> str:
    """The rule as a pattern of limited length, for plain words without quotes."""
    named = read_named(rule)
    if isinstance(named, NamedOptions):
        return pattern_of(named)
    rule = _shown(rule)
    if rule.endswith(" *"):
        return _stars(rule[:-2], _PLAIN) + f"(?: {_PLAIN_WORD}{_PLAIN})?"
    return _stars(rule, _PLAIN)


def _stars(text: str, star: str = ".*") -> str:
    return star.join(re.escape(part) for part in text.split("*"))
