"""The value of a compiled condition. Pure, and the standard library only.

Hooks run this under `python3 -I -S` at every tool call that a rule may concern, so it
imports nothing of ours; `condition_compiler` makes what it reads. A compiled condition
is JSON: whatever is not a list stands for itself, and a list is an operation, with the
place in the source that an error names:

    ["name", at, NAME]                      what the event or the session calls NAME
    ["get", at, BASE, KEY]                  BASE.key, BASE["key"], BASE[0]
    ["and" | "or", at, A, B, …]   ["not", at, A]   ["if", at, TEST, THEN, ELSE]
    ["compare", at, A, "<", B, "<=", C, …]  a chain, as in Python
    ["list" | "map", at, …]                 its items; keys and values by turns
    ["text", at, …]                         its parts, put together
    ["has_word", at, WORD, COMMAND]         WORD in words(COMMAND)
    [FUNCTION, at, …]                       len, lower, …, runs, words

What is missing is None. On None, fields, functions, `in` and order comparisons give
None or False, and `not in` gives True. Any other wrong type is a `ConditionError`.

A shell command cannot always be read. What depends on such a part is MAY, neither true
nor false: `decide` says "may", which a rule that blocks has to count as true.
"""

from __future__ import annotations

import json

from bridge.policy.condition_globs import matches

# `typing` itself costs more than a hook may; type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Literal

    Code = Any
    Scope = Mapping[str, Any]
    # "runs" and "words" of `bridge.policy.started_programs`: they load a parser.
    Shell = Mapping[str, Callable[..., Any]]

NO_SHELL: Shell = {}
# Without any of these, a program that a command starts stands in its text.
_HIDING = "$`?*[{|<"


class May:
    """Neither true nor false: it depends on what could not be read."""

    __slots__ = ()

    def __bool__(self) -> bool:
        """Refuse to be taken for either."""
        raise TypeError("MAY is neither true nor false: ask decide()")

    def __repr__(self) -> str:
        return "MAY"


MAY = May()


class ForeignCommand(str):
    """A command of a shell that is not bash: it is not read."""

    __slots__ = ()

    def names(self, text: str) -> bool:
        """Whether all words of a text stand in it, in upper or lower case."""
        return holds(_unquoted(self, escape="`").lower(), text.lower().split())


class ConditionError(Exception):
    """A condition met a value that it cannot be asked about.

    `at` is the offset in the condition's source; `condition_problem.shown` shows it.
    """

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at
        self.message = message


def operations(code: Code) -> Iterable[Any]:
    """Each operation in a condition, the outer ones first."""
    if isinstance(code, list):
        yield code
        for part in code[2:]:
            yield from operations(part)


def decide(
    code: Code, scope: Scope, shell: Shell = NO_SHELL
) -> Literal["yes", "no", "may"]:
    """Whether a condition holds.

    Raises:
        ConditionError: a value has the wrong type.
    """
    found = evaluate(code, scope, shell)
    return "may" if found is MAY else "yes" if found else "no"


def evaluate(code: Code, scope: Scope, shell: Shell = NO_SHELL) -> Any:
    """The value of a condition: JSON, or MAY.

    Raises:
        ConditionError: a value has the wrong type.
    """
    if not isinstance(code, list):
        return code
    op, at, *parts = code
    if op == "name":
        return scope.get(parts[0])
    if op in {"and", "or"}:
        return _all_or_any(parts, scope, shell, is_any=op == "or")
    if op == "if":
        test = evaluate(parts[0], scope, shell)
        chosen = MAY if test is MAY else parts[1 if test else 2]
        return evaluate(chosen, scope, shell)
    try:
        if op == "compare":
            return _chain(parts, scope, shell)
        values = [evaluate(part, scope, shell) for part in parts]
        if any(value is MAY for value in values):
            return MAY
        if op in _SHELL:
            return _SHELL[op](shell, *values)
        return _OPERATIONS[op](*values)
    except TypeError as error:
        raise ConditionError(at, str(error)) from None
    except RecursionError:
        raise ConditionError(at, "values nested too deeply to compare") from None


def _all_or_any(parts: list[Code], scope: Scope, shell: Shell, *, is_any: bool) -> Any:
    """As Python's `and` and `or`; MAY only where it matters."""
    may = False
    value: Any = None
    for part in parts:
        value = evaluate(part, scope, shell)
        if value is MAY:
            may = True
        elif bool(value) is is_any:
            return value
    return MAY if may else value


def _chain(parts: list[Code], scope: Scope, shell: Shell) -> Any:
    """As Python's `a < b < c`: what follows the first false comparison is not asked."""
    left = evaluate(parts[0], scope, shell)
    may = False
    for sign, code in zip(parts[1::2], parts[2::2], strict=True):
        right = evaluate(code, scope, shell)
        if left is MAY or right is MAY:
            may = True
        elif not _COMPARISONS[sign](left, right):
            return False
        left = right
    return MAY if may else True


def _ordered(sign: str, compare: Callable[[Any, Any], bool]) -> Any:
    def is_ordered(left: Any, right: Any) -> bool:
        try:
            return left is not None and right is not None and compare(left, right)
        except TypeError:
            why = f"'{sign}' cannot compare {kind(left)} with {kind(right)}"
            raise TypeError(why) from None

    return is_ordered


def _is_in(left: Any, right: Any) -> bool:
    if right is None or (left is None and isinstance(right, str)):
        return False
    try:
        return left in right
    except TypeError:
        raise TypeError(f"'in' cannot look for {kind(left)} in {kind(right)}") from None


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda left, right: bool(left == right),
    "!=": lambda left, right: bool(left != right),
    "is": lambda left, right: left is right,
    "is not": lambda left, right: left is not right,
    "in": _is_in,
    "not in": lambda left, right: not _is_in(left, right),
    "<": _ordered("<", lambda left, right: left < right),
    "<=": _ordered("<=", lambda left, right: left <= right),
    ">": _ordered(">", lambda left, right: left > right),
    ">=": _ordered(">=", lambda left, right: left >= right),
}


def _get(base: Any, key: Any) -> Any:
    if base is None:
        return None
    if isinstance(base, dict):
        if isinstance(key, (list, dict)):
            raise TypeError(f"{kind(key)} cannot be a key")
        return base.get(key)
    if isinstance(base, (list, str)) and isinstance(key, int):
        return base[key] if -len(base) <= key < len(base) else None
    what = f"field {key!r}" if isinstance(key, str) else f"item {key!r}"
    raise TypeError(f"{kind(base)} has no {what}")


def _get_or(base: Any, key: Any, default: Any = None) -> Any:
    if base is None:
        return default
    if not isinstance(base, dict) or isinstance(key, (list, dict)):
        raise TypeError(f"'get' cannot look up {kind(key)} in {kind(base)}")
    return base.get(key, default)


def _length(value: Any) -> int | None:
    if value is not None and not isinstance(value, (str, list, dict)):
        raise TypeError(f"{kind(value)} has no length")
    return None if value is None else len(value)


def _on_text(name: str, change: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a text and more texts; None if one of them is None."""

    def changed(*texts: Any) -> Any:
        if any(text is None for text in texts):
            return None
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"'{name}' takes texts, not {kind(text)}")
        return change(*texts)

    return changed


def _strip(text: Any, *characters: Any) -> Any:
    given = [one for one in characters if one is not None]
    return _on_text("strip", str.strip)(text, *given)


def _on_any(name: str, test: Callable[[str, str], bool]) -> Callable[..., Any]:
    """A test of a text with a text, or with any of a list."""
    plain = _on_text(name, test)

    def tested(text: Any, wanted: Any) -> Any:
        if isinstance(wanted, list):
            return any(plain(text, one) for one in wanted)
        return plain(text, wanted)

    return tested


def _text(*parts: Any) -> str:
    """Parts of a text, each as one would write it; nothing for None."""
    return "".join(
        part if isinstance(part, str) else "" if part is None else json.dumps(part)
        for part in parts
    )


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "not": lambda value: not value,
    "list": lambda *items: list(items),
    "map": lambda *items: dict(zip(items[::2], items[1::2], strict=True)),
    "text": _text,
    "get": _get,
    "get_or": _get_or,
    "len": _length,
    "lower": _on_text("lower", str.lower),
    "upper": _on_text("upper", str.upper),
    "strip": _strip,
    "startswith": _on_any("startswith", str.startswith),
    "endswith": _on_any("endswith", str.endswith),
    "matches": _on_any("matches", matches),
}


def _runs(shell: Shell, command: Any, *names: Any) -> Any:
    lists = (each if isinstance(each, list) else [each] for each in names)
    wanted = [name for each in lists for name in each if name is not None]
    for name in wanted:
        if not isinstance(name, str) or not name.split():
            raise TypeError(f"'runs' takes names of programs, not {kind(name)}")
    if isinstance(command, ForeignCommand):
        return MAY if any(map(command.names, wanted)) else False
    if not _is_command(command, "runs"):
        return False
    firsts = (name.split()[0] for name in wanted)
    if not stands_in(command, firsts) and not can_hide(command):
        return False
    return _asked(shell, "runs")(command, *wanted)


def _words(shell: Shell, command: Any) -> Any:
    if isinstance(command, ForeignCommand):
        return MAY
    return _asked(shell, "words")(command) if _is_command(command, "words") else None


def _has_word(shell: Shell, word: Any, command: Any) -> Any:
    if not isinstance(word, str):
        return False
    if isinstance(command, ForeignCommand):
        return MAY if command.names(word) else False
    if not _is_command(command, "words") or not stands_in(command, [word]):
        return False
    words = _asked(shell, "words")(command)
    return MAY if words is MAY else word in words


_SHELL: dict[str, Callable[..., Any]] = {
    "runs": _runs, "words": _words, "has_word": _has_word,
}  # fmt: skip


def _asked(shell: Shell, name: str) -> Callable[..., Any]:
    if name in shell:
        return shell[name]
    raise TypeError(f"'{name}' cannot be asked here")


def _is_command(command: Any, name: str) -> bool:
    if command is not None and not isinstance(command, str):
        raise TypeError(f"'{name}' takes a command, not {kind(command)}")
    return command is not None


def can_hide(command: str) -> bool:
    """Whether a command may start a program that does not stand in its text."""
    return any(sign in command for sign in _HIDING)


def stands_in(command: str, wanted: Iterable[str]) -> bool:
    """Whether any of these words stands in a command, quotes aside."""
    plain = _unquoted(command)
    return any(word in command or _unquoted(word) in plain for word in wanted)


def holds(text: str, wanted: Iterable[str]) -> bool:
    """Whether all words of a name stand in a text in their order, quotes aside.

    Each is a whole word: `.git`, `git-lfs` and `github` are others than `git`.
    """
    import re

    words, plain = list(wanted), _unquoted(text)
    # What a program prints for `\\n` and `\\t` is no part of a word.
    apart = re.sub(r"\\[nrt]", " ", text) if "\\" in text else ""
    return _stand_in(plain, words) or (
        bool(apart) and _stand_in(_unquoted(apart), words)
    )


def _stand_in(plain: str, wanted: Iterable[str]) -> bool:
    import re

    at, dot = 0, "."
    for word in wanted:
        pattern = rf"(?<![\w{dot}-]){re.escape(word)}(?:\.exe)?(?![\w{dot}-])"
        found = re.compile(pattern).search(plain, at)
        if found is None:
            return False
        # A method may be what is left: `git.push()`.
        at, dot = found.end(), ""
    return True


def _unquoted(text: str, escape: str = "\\") -> str:
    if escape in text:  # perhaps before the end of a line, which then goes on
        text = text.replace(f"{escape}\n", "").replace(escape, "")
    return text.replace("\\", "").replace("'", "").replace('"', "")


def kind(value: Any) -> str:
    """What a person calls a value of this type."""
    return "an empty text" if value == "" else _KINDS.get(type(value), "a mapping")


_KINDS = {
    type(None): "nothing", bool: "true or false", int: "a number", float: "a number",
    str: "a text", list: "a list",
}  # fmt: skip
