"""Rules for commands that list the options which they cover. Pure.

    rule      =  words " [" options "]" [" *"]     pytest [-q -x --tb=* -k=*] *
    option    =  -q | --lf | --                    without a value
              |  --tb=* | -p=no:* | -run=*         with one; `*` stands for anything
              |  DATABASE_URL=* | CC=gcc           a variable that whoever starts the
                                                   program may set for it

The command must begin with the words. `*` at the end covers operands; without it none
are allowed. Every other word that begins with `-` or `+` is an option, even after `--`,
and must be listed in full: an abbreviation is another option. A value is written
`--tb=short` or `--tb short`, and after a letter also `-kvalue`. Letters can be joined
(`-qx`), unless the rule lists a word after a single dash, as in `go` (`-run`).

Operands and values must stay in the project, and so must the caches that programs leave
beside them: where one is a link, they would write elsewhere. `@file` is refused, as
some programs read options from it. What a shell would expand (`*`, `{a,b}`, `~`) must
be quoted: it could become an option.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.policy.condition_globs import starred
from bridge.policy.shell_signs import expansion_sign

if TYPE_CHECKING:
    # Whether a path, relative to where the command starts, is in the project.
    IsInside = Callable[[str], bool]

GRAMMAR = "expected WORDS [OPTIONS] or WORDS [OPTIONS] *, as pytest [-q --tb=*] *"
_LOOKS_NAMED = re.compile(r"\A(.*?) \[(?=[-+\]]|[A-Za-z_]\w*=)(.*)\Z", re.S)
_REST = re.compile(r"([^\[\]]*)\]( \*)?\Z")
_OPTION = re.compile(r"(?P<name>[-+][^\s=*]*)(?:=(?P<value>\S+))?\Z")
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>\S+)\Z")
# They say how output looks and what time it is, and start nothing.
_HARMLESS = re.compile(
    r"CI|TERM|COLORTERM|COLUMNS|LINES|LANG|LC_[A-Z]+|TZ|NO_COLOR|(?:FORCE|PY)_COLORS?"
    r"|CLICOLOR(?:_FORCE)?|PYTHON(?:UNBUFFERED|DONTWRITEBYTECODE|HASHSEED|UTF8"
    r"|IOENCODING)|RUST_BACKTRACE|CARGO_TERM_COLOR|NODE_ENV|SOURCE_DATE_EPOCH"
    r"|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|GIT_TERMINAL_PROMPT"
    r"|DEBIAN_FRONTEND|TRACEPARENT|TRACESTATE"
)
# What checkers write without being told to.
_CACHES = ("__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache")
_MAX_DEPTH = 40
# Ours say which session asks; no rule can grant them.
_OURS = "BRIDGE_"
_LETTER = 2
_PARTS = re.compile(r"[=:,]")


@dataclass(frozen=True, slots=True)
class NamedOptions:
    """A rule of this form in parts.

    `options` maps each name to the patterns of its values; None among them means that
    it can have no value. `variables` does so for those of the environment.
    """

    words: tuple[str, ...]
    options: dict[str, tuple[str | None, ...]]
    takes_operands: bool
    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def has_clusters(self) -> bool:
        """Whether one dash can have several letters."""
        return not any(
            len(name) > _LETTER and not name.startswith("--") for name in self.options
        )

    def is_about(self, argv: Sequence[str]) -> bool:
        """Whether a command begins with the words of the rule."""
        return tuple(argv[: len(self.words)]) == self.words


def read_named(spec: str) -> NamedOptions | str | None:
    """Parse a rule of this form: what is wrong with it, or None for another form.

    `spec` is the text in the parentheses of a `Bash` rule.
    """
    match = _LOOKS_NAMED.match(spec)
    if match is None:
        return None
    rest = _REST.match(match[2])
    words = tuple(match[1].split())
    if rest is None or not words or "*" in match[1]:
        return GRAMMAR
    options: dict[str, tuple[str | None, ...]] = {}
    variables: dict[str, tuple[str, ...]] = {}
    for text in rest[1].split():
        if found := _VARIABLE.match(text):
            name = found["name"]
            variables[name] = (*variables.get(name, ()), found["value"])
            continue
        option = _OPTION.match(text)
        if option is None or option["name"] == "-":
            return f"{text!r} is no option: {GRAMMAR}"
        name = option["name"]
        options[name] = (*options.get(name, ()), option["value"])
    return NamedOptions(words, options, rest[2] is not None, variables)


def why_not_covered(
    rule: NamedOptions,
    argv: Sequence[str],
    is_inside: IsInside,
    text: str,
    *,
    writes: bool = True,
) -> str | None:
    """Why a rule that is about a command does not cover it; None if it does.

    `argv` are the words of `text`, one plain command (`bridge.policy.shell_signs`).
    `writes` says whether the program may leave caches beside what it reads.
    """
    if (sign := expansion_sign(text)) is not None:
        return f"unquoted, a shell would expand {sign!r}; put the word in quotes"
    if not is_inside("."):
        return "it would start outside the project"
    walk = _Walk(rule, is_inside)
    why = walk.why_not(argv[len(rule.words) :])
    return why or (_cache_outside(walk.operands, is_inside) if writes else None)


def _cache_outside(operands: Sequence[str], is_inside: IsInside) -> str | None:
    # The nearest folder with a configuration may have it.
    parts = (operand.split("/")[:_MAX_DEPTH] for operand in operands)
    folders = {"/".join(one[:end]) for one in parts for end in range(1, len(one) + 1)}
    for folder in ("", *sorted(folders)):
        for name in _CACHES if is_inside(folder or ".") else ():
            if not is_inside(found := posixpath.join(folder, name)):
                return (
                    f"{found!r}, where it may leave a cache, lies outside the project"
                )
    return None


def variable_not_covered(
    rule: NamedOptions | None, env: Mapping[str, str | None]
) -> str | None:
    """The first variable that a rule does not cover; a value of None can be any.

    One may make a program write files or start others (`GIT_TRACE`, `PYTHONPATH`): it
    must be named, as an option must. `rule` is None for a rule of another form.
    """
    for name, value in env.items():
        given = value or ""
        named = rule.variables.get(name, ()) if rule else ()
        is_plain = not given.startswith(("/", ":")) and ".." not in given
        if name.startswith(_OURS) or not (
            (_HARMLESS.fullmatch(name) and is_plain)
            or any(value is None or _fits(pattern, given) for pattern in named)
        ):
            return name
    return None


def operands_of(rule: NamedOptions, argv: Sequence[str]) -> list[str]:
    """What a command that a rule covers has beside its options and their values."""
    walk = _Walk(rule, lambda _: True)
    walk.why_not(argv[len(rule.words) :])
    return walk.operands


def pattern_of(rule: NamedOptions) -> str:
    """A regular expression for plain commands that the rule covers.

    It constrains what a model writes: it is finite, and covers less than the rule.
    """
    word = "[A-Za-z0-9_]+(?:[./-][A-Za-z0-9_]+|::[A-Za-z0-9_]+)*"
    options = [
        re.escape(name)
        if value is None
        else f"{re.escape(name)}={word.join(map(re.escape, value.split('*')))}"
        for name, values in rule.options.items()
        for value in values
    ]
    found = "".join(f" {re.escape(text)}" for text in rule.words)[1:]
    if options:
        found += f"(?: (?:{'|'.join(options)})){{0,6}}"
    if rule.takes_operands:
        found += rf"(?: (?:\.|\./\.\.\.|(?:\./)?{word}/?)){{0,6}}"
    return found


class _Walk:
    """Goes through the words after those of the rule."""

    def __init__(self, rule: NamedOptions, is_inside: IsInside) -> None:
        self._rule = rule
        self._is_inside = is_inside
        # The previous option, if the next word can be its value.
        self._open: str | None = None
        self.operands: list[str] = []

    def why_not(self, argv: Sequence[str]) -> str | None:
        for word in argv:
            is_option = word[:1] in ("-", "+") and word != "-"
            why = self._option(word) if is_option else self._other(word)
            if why:
                return why
        return self._unvalued()

    def _option(self, word: str) -> str | None:
        if why := self._unvalued():
            return why
        self._open = None
        name, equals, value = word.partition("=")
        if name in self._rule.options:
            if equals:
                return self._value(name, value)
            if self._takes_value(name):
                self._open = name
            return None
        if self._rule.has_clusters and word[1:2] not in ("", "-"):
            return self._cluster(word)
        return self._unnamed(f"{name}=*" if equals else name)

    def _cluster(self, word: str) -> str | None:
        for at, letter in enumerate(word[1:], 1):
            name, rest = word[0] + letter, word[at + 1 :]
            if name not in self._rule.options:
                # The word is not a cluster but one option.
                whole = word.partition("=")[0]
                return self._unnamed(name if at > 1 or not rest else whole)
            if self._takes_value(name):
                if rest:
                    return self._value(name, rest)
                self._open = name
            elif rest[:1] == "=":
                return self._value(name, rest[1:])
        return None

    def _value(self, name: str, value: str) -> str | None:
        patterns = [each for each in self._rule.options[name] if each is not None]
        if not any(_fits(pattern, value) for pattern in patterns):
            return self._unnamed(f"{name}=*")
        return self._outside(value)

    def _other(self, word: str) -> str | None:
        name, self._open = self._open, None
        if name is not None and not self._value(name, word):
            return None
        if name is not None and None not in self._rule.options[name]:
            return self._value(name, word)
        self.operands.append(word)
        if not self._rule.takes_operands:
            return f"it covers no operand, and {word!r} is one"
        return self._outside(word)

    def _outside(self, word: str) -> str | None:
        if word.startswith("@"):
            return f"{word!r} may name a file of options, which is not covered"
        parts = [word, *_PARTS.split(word)]
        if any(part.startswith("~") or not self._is_inside(part) for part in parts):
            return f"{word!r} lies outside the project"
        return None

    def _unvalued(self) -> str | None:
        """The previous option, if it requires a value and has none."""
        name = self._open
        if name is None or None in self._rule.options[name]:
            return None
        return f"the option {name} lacks its value; write {name}=VALUE"

    def _takes_value(self, name: str) -> bool:
        return any(each is not None for each in self._rule.options[name])

    def _unnamed(self, option: str) -> str:
        name = option.partition("=")[0]
        words = " ".join(self._rule.words)
        more = "… " if self._rule.options else ""
        end = " *" if self._rule.takes_operands else ""
        known = self._rule.options.get(name, ())
        what = f"the option {name} is not"
        if known:
            what = f"the option {name} is only as {_spelt(name, known)}"
        return f"{what} granted; a rule for it: Bash({words} [{more}{option}]{end})"


def _spelt(name: str, values: Sequence[str | None]) -> str:
    return " or ".join(name if each is None else f"{name}={each}" for each in values)


def _fits(pattern: str, value: str) -> bool:
    return re.fullmatch(starred(pattern), value, re.S) is not None
