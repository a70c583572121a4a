"""Which commands a `Bash` rule covers, and why none does. Pure.

One answer for a line that a client's shell reads, a line of a model's that no shell
reads, and an argv. A rule is about one program: where a `*` would cover a sign that
only a shell understands, the rule covers nothing. A rule that names options is judged
word by word (command_options.py).

Source: Claude Code, permission rules: `Bash`, `Bash(exact)`, `Bash(prefix:*)`,
`Bash(words *)`, where `*` stands for anything and a space before it ends a word.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.policy.command_options import NamedOptions, read_named, why_not_covered
from bridge.policy.condition_globs import starred
from bridge.policy.shell_signs import BLANK, shell_sign

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.policy.command_options import IsInside


@dataclass(frozen=True, slots=True)
class Command:
    """A command as rules see it.

    Attributes:
        text: all of it, in one line.
        argv: the words of one plain program; empty if a shell is needed.
        texts: the spellings that a pattern may cover.
        exact: the spellings that a rule may repeat, signs and all; None if it need only
            have the same words.
    """

    text: str
    argv: tuple[str, ...]
    texts: tuple[str, ...]
    exact: tuple[str, ...] | None = ()

    @property
    def sign(self) -> str | None:
        """The first sign that only a shell understands; None for a plain program."""
        return shell_sign(self.text)

    @classmethod
    def of_line(cls, line: str, *, written: str = "") -> Command:
        """A line that a shell reads; `written` is all of it, if it began with `cd`."""
        argv = () if shell_sign(line) else tuple(shlex.split(line))
        return cls(line, argv, (line.strip(BLANK),), (line, written))

    @classmethod
    def of_words(cls, line: str) -> Command:
        """A line that is split into words, and read by no shell.

        Raises:
            ValueError: it cannot be split.
        """
        argv = shlex.split(line)
        # Quoted again: a space inside an argument is not the space of a rule.
        texts = [shlex.join(argv)]
        # As it was written, unless some of its spaces separate no arguments: those in
        # quotes, and those of Unicode (`pytest\u3000x` is one program, and not pytest).
        # Without one at the end, after a backslash, no pattern is to cover it.
        written = " ".join(line.split())
        try:
            texts += [written] if shlex.split(written) == argv else []
        except ValueError:
            texts = []
        return cls(line, tuple(argv), tuple(texts))

    @classmethod
    def of_argv(cls, argv: Sequence[str]) -> Command:
        """The words of a program that is started without a shell."""
        text = shlex.join(argv)
        return cls(text, tuple(argv), (text,), None)

    def is_exactly(self, spec: str) -> bool:
        """Whether a rule says this command and no other."""
        if self.exact is not None:
            return spec in self.exact
        try:
            return "*" not in spec and shlex.split(spec) == [*self.argv]
        except ValueError:
            return False


def covers(spec: str | None, command: Command, is_inside: IsInside) -> bool:
    """Whether the rule `Bash(spec)` covers a command.

    `is_inside` says whether a path, as written and relative to where the command
    starts, lies in the project.
    """
    if spec is None or (spec == "*" and command.texts):
        return True
    named = read_named(spec)
    if isinstance(named, NamedOptions):
        return named.is_about(command.argv) and (
            why_not_covered(named, command.argv, is_inside, command.text) is None
        )
    if named is not None:
        return False
    if command.is_exactly(spec):
        return True
    pattern = command_pattern(spec)
    return command.sign is None and any(map(pattern.fullmatch, command.texts))


def why_not(specs: Iterable[str], command: Command, is_inside: IsInside) -> str | None:
    """What a rule that names options of this very program does not cover.

    None if no rule does.
    """
    named = [
        rule
        for rule in map(read_named, specs)
        if isinstance(rule, NamedOptions) and rule.is_about(command.argv)
    ]
    if not named:
        return None
    # The rule with the most words of the command is the one that was meant.
    nearest = max(named, key=lambda rule: len(rule.words))
    return why_not_covered(nearest, command.argv, is_inside, command.text)


def command_pattern(spec: str) -> re.Pattern[str]:
    """The pattern of a `Bash` rule, for a whole command."""
    # `pytest:*` is the client's older way to write `pytest *`.
    spec = re.sub(r":\*\Z", " *", spec)
    # `pytest *` covers bare `pytest`, too.
    is_open = spec.endswith(" *")
    return re.compile(
        starred(spec.removesuffix(" *")) + (r"(?:\ .*)?" if is_open else "")
    )
