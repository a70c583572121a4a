"""Programs that start other programs, and where in their arguments those are. Pure.

`unwrap` takes the words of one command and says what it would start itself:

    [Argv]      the words of another program: `env X=1 pytest` → pytest
    [Script]    text for a shell: `bash -c 'cd x && pytest'`
    [Opaque]    text for something else (`python -c`), or nothing that is known
                (`$CMD`): what it starts cannot be told
    [Foreign]   arguments of a program that nothing is known about, or of one that
                starts them elsewhere: any of them may be what it starts

`wrapper_table` says how the arguments of each program are to be read.
"""

from __future__ import annotations

import re
from itertools import pairwise

from bridge.policy.shell_words import UNKNOWN, program, raw_of
from bridge.policy.wrapper_table import (
    AWKS,
    ELSEWHERE,
    GLOBALS,
    MAKES,
    OPTIONS,
    PLAIN,
    PYTHON,
    RECIPES,
    STARTS,
    WRAPPERS,
    Argv,
    Code,
    Foreign,
    Opaque,
    Script,
    Started,
    Stdin,
    Wrapper,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Words = list[str]


# No long option is shorter: `--x`.
_SHORT = 3
_NO_OPTIONS: frozenset[str] = frozenset()
_SHELLS = frozenset({
    "bash", "sh", "zsh", "dash", "ksh", "ash", "mksh", "fish", "rbash",
})  # fmt: skip
_SHELL_VALUES = frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"})
_SOURCES = frozenset({"source", "."})
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_PYTHONS = re.compile(r"(?:python|pypy|pythonw|py)[\d.]*t?(?:\.exe)?")
_ASSIGNMENT = re.compile(r"[^=\s]+=")
_LANGUAGES = frozenset({"node", "perl", "ruby", "php"})
_INTERACTIVE = re.compile(r"-[A-Za-z]*i[A-Za-z]*|--interactive")
_DATABASES = frozenset({"sqlite3", "psql"})
_SSH_VALUES = frozenset(f"-{letter}" for letter in "bcDEeFIiJLlmOopQRSWw")
_FILE_OPTION = re.compile(r"-\w*f|-x|--(?:file|makefile|justfile)")
# Tests and listings at the end of a `find`: everything else ends an -exec.
_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FD = frozenset({"-x", "--exec", "-X", "--exec-batch"})


def unwrap(words: Words) -> list[Started]:
    """What a command starts beside itself; its own name must be known."""
    name = program(words[0]) or ""
    rest = words[1:]
    if name in _SHELLS:
        return _shell(rest)
    if name in _SOURCES:
        return [_sourced(rest)] if rest else []
    if _PYTHONS.fullmatch(name):
        return _of_language("python", PYTHON, rest)
    if name in _LANGUAGES:
        return [*_code(name, rest), *_of_language(name, WRAPPERS[name], rest)]
    if name in _DATABASES:
        return [Code(text, [], name) for text in [*rest, None]]
    if name == "ssh":
        return _ssh(rest)
    if name == "find":
        return _each_exec(rest, _FIND, ends={";", "+"})
    if name in {"fd", "fdfind"}:
        return _each_exec(rest, _FD, ends={";"})
    if name == "alias":
        values = [one.partition("=")[2] for one in rest if "=" in one]
        # Its name gets more words, on a later line.
        later = [Foreign([*text.split(), UNKNOWN]) for text in values]
        return [*map(Script, values), *later]
    return [*_code(name, rest), *_by_table(name, rest)]


def _of_language(name: str, wrapper: Wrapper, rest: Words) -> list[Started]:
    """What the code in an option, in a file or in what comes in may start."""
    if name in {"python", "node"} and any(map(_INTERACTIVE.fullmatch, rest)):
        # Then it reads more code.
        name = ""
    return [
        one._replace(language=name) if isinstance(one, Code) else one
        for one in _unwrapped(wrapper, rest) or [Code(None, rest, name)]
    ]


def _ssh(rest: Words) -> list[Started]:
    """Text for a shell elsewhere; what options start here is among their words."""
    place = next_operand(rest, _SSH_VALUES)
    behind = [] if place is None else rest[place + 1 :]
    if not behind or UNKNOWN in "".join(behind):
        return [Foreign(rest)]
    return [Foreign(rest[:place]), Script(" ".join(behind))]


def _code(name: str, rest: Words) -> list[Started]:
    """The arguments that are code, and code that comes in."""
    is_code = STARTS.get(name)
    code = [word for word in rest if is_code and is_code(word)]
    if code and name in AWKS:
        # What it starts may be what a variable holds: `awk -v c=pytest '{system(c)}'`.
        code = [" ".join(rest)]
    found: list[Started] = [*map(Opaque, code)]
    if name in MAKES:
        # So do recipes: `make CC=pytest`.
        found += [Opaque(word) for word in rest if _ASSIGNMENT.match(word)]
    for before, word in pairwise(["", *rest]) if name in RECIPES else ():
        is_file = _FILE_OPTION.fullmatch(before)
        option, _, value = word.partition("=")
        is_one = value in _STDIN and _FILE_OPTION.fullmatch(option)
        if word == "-f-" or is_one or (word in _STDIN and is_file):
            return [*found, Foreign([])]
        if is_file and _is_process(word):
            found.append(Opaque(raw_of(word)))
    return found


def _by_table(name: str, rest: Words) -> list[Started]:
    if name == "tar" and rest and rest[0].isalpha():
        rest = [f"-{rest[0]}", *rest[1:]]
    key, arguments = name, rest
    # `git -C x bisect run`: up to three words name the wrapper.
    found: tuple[str, Words] | None = None
    given: list[Started] = []
    for _ in range(4):
        if key in WRAPPERS or key in ELSEWHERE:
            found = key, arguments
        given += _of_options(OPTIONS.get(key, _NO_OPTIONS), arguments)
        place = next_operand(arguments, GLOBALS.get(key, _NO_OPTIONS))
        if place is None:
            break
        key, arguments = f"{key} {arguments[place]}", arguments[place + 1 :]
    if found is None:
        return given if name in PLAIN else [Foreign(rest)]
    key, arguments = found
    if key in ELSEWHERE:
        return [Foreign(arguments)]
    if key == "xargs":
        return _xargs(arguments)
    if key == "trap":
        arguments = arguments[1:] if arguments[:1] == ["--"] else arguments
        return [Script(arguments[0])] if arguments else []
    if key == "git for-each-repo":
        place = next_operand(arguments, frozenset({"--config"}))
        return [] if place is None else [Argv(["git", *arguments[place:]])]
    # Without a command, it reads them, or code.
    reads = Stdin(is_shell=True) if key == "parallel" else Foreign([])
    return [*given, *(_unwrapped(WRAPPERS[key], arguments) or [reads])]


def _of_options(options: frozenset[str], words: Words) -> list[Started]:
    """What options start, also cut short (`--use-comp`): their value, and the rest."""
    if not options:
        return []
    for at, word in enumerate(words):
        name, sign, value = word.partition("=")
        for option in options:
            if option.startswith("--"):
                is_it = len(name) > _SHORT and option.startswith(name)
                value = value if sign else ""
            elif len(option) == len("-x") and re.match(rf"-\w*{option[1]}", word):
                is_it, value = True, word.partition(option[1])[2]
            else:
                is_it, value = word.startswith(option), word[len(option) :]
            if is_it:
                return [
                    Foreign([value, *words[at + 1 :]] if value else words[at + 1 :])
                ]
    return []


def next_operand(words: Sequence[str], values: frozenset[str]) -> int | None:
    """Where the first word is that is neither an option nor its value."""
    at = 0
    while at < len(words):
        word = words[at]
        if not word.startswith("-") or word == "-":
            return at
        if word == "--":
            return at + 1 if at + 1 < len(words) else None
        at += 2 if word in values else 1
    return None


def _unwrapped(wrapper: Wrapper, words: Words) -> list[Started]:
    """Go through the options; what is left is the program."""
    found: list[Started] = []
    skip = wrapper.skip
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            if wrapper.is_dashed or not skip:
                break
        elif word.startswith("-") and word != "-":
            option, value, at = _option(wrapper, words, at)
            if option in wrapper.none:
                return []
            ends = _of_option(wrapper, option, value, words[at:], found)
            if ends:
                return found
        elif wrapper.sets and (word == "-" or _ASSIGNMENT.match(word)):
            at += 1
        elif wrapper.is_dashed or skip:
            skip -= 1
            at += 1
        else:
            break
    return [*found, *_of_rest(wrapper, words[at:])]


def _of_option(
    wrapper: Wrapper, option: str, value: str | None, rest: Words, found: list[Started]
) -> bool:
    """Note what an option's value starts; whether the rest are arguments of that."""
    if value is None:
        return False
    if option in wrapper.scripts:
        found.append(Script(value))
    elif option in wrapper.codes:
        found.append(Code(value, rest, ""))
    elif option in wrapper.modules:
        found.append(Argv([value, *rest]))
    return option in wrapper.codes or option in wrapper.modules


def _of_rest(wrapper: Wrapper, rest: Words) -> list[Started]:
    if not rest or rest[0] in _STDIN:
        return []
    if wrapper.is_script:
        return _scripts(wrapper, rest)
    if wrapper.has_version:
        rest = [_without_version(rest[0]), *rest[1:]]
    if wrapper is WRAPPERS["hatch run"]:
        # `hatch run ENVIRONMENT:PROGRAM`
        rest = [rest[0].rpartition(":")[2], *rest[1:]]
    return [Argv(rest)]


def _scripts(wrapper: Wrapper, rest: Words) -> list[Started]:
    if wrapper is WRAPPERS["hyperfine"]:
        return [Script(one) for one in rest]
    if wrapper is WRAPPERS["parallel"]:
        ends = [at for at, one in enumerate(rest) if one.startswith(":::")]
        given = rest[ends[0] :] if ends else [UNKNOWN]
        given = [each for each in given if not each.startswith(":::")]
        rest = rest[: ends[0]] if ends else rest
        if not rest:
            # Without a command, each argument is one.
            return [Opaque(None)]
        has_mark = any("{}" in word for word in rest)
        each = [
            Argv(_replaced(rest, "{}", one) if has_mark else [*rest, one])
            for one in given
        ]
        return [Script(" ".join(rest)), *each]
    return [Script(" ".join(rest))]


def _option(wrapper: Wrapper, words: Words, at: int) -> tuple[str, str | None, int]:
    """An option, its value if it takes one, and the index after both."""
    word, at = words[at], at + 1
    following = words[at] if at < len(words) else UNKNOWN
    if word in wrapper.values:
        return word, following, at + 1
    if word.startswith("--"):
        name, sign, value = word.partition("=")
        if name not in wrapper.values and len(name) > _SHORT:
            # Cut short, as `env --split-s`.
            whole = [each for each in wrapper.values if each.startswith(name)]
            name = whole[0] if len(whole) == 1 else name
            if name in wrapper.values and not sign:
                return name, following, at + 1
        return name, value if sign else None, at
    for place, letter in enumerate(word[1:], 2):
        option = f"-{letter}"
        if option in wrapper.none:
            return option, None, at
        if option in wrapper.values:
            value = word[place:]
            return (option, value, at) if value else (option, following, at + 1)
    return word, None, at


def _without_version(word: str) -> str:
    name, sign, _version = word.rpartition("@")
    return name if sign and name and not name.endswith("/") else word


def _shell(words: Words) -> list[Started]:
    """`bash -c TEXT`, `bash FILE`, or a shell that reads its standard input."""
    is_text = is_stdin = False
    at = 0
    while at < len(words) and words[at][:1] in {"-", "+"} and words[at] not in _STDIN:
        word = words[at]
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            at += word in _SHELL_VALUES
            is_text = is_text or word == "--command"
            continue
        is_text = is_text or "c" in word[1:]
        is_stdin = is_stdin or "s" in word[1:]
        # Each `o` in a cluster takes a value: `-euo pipefail`.
        at += sum(word[1:].count(letter) for letter in "oO")
    rest = words[at:]
    if is_text and rest and "$" in raw_of(rest[0]):
        # What comes behind the text is its `$0`, `$1` …
        return [Foreign(rest[1:]), Script(rest[0])]
    if is_text:
        return [Script(rest[0]) if rest else Opaque(None)]
    if is_stdin or not rest or rest[0] in _STDIN:
        return [Stdin(is_shell=True)]
    return [Script(UNKNOWN) if _is_process(rest[0]) else Argv(rest)]


def _is_process(word: str) -> bool:
    """Whether a file to read is what another command writes: `bash <(…)`."""
    return raw_of(word).startswith("<(")


def _sourced(words: Words) -> Started:
    if _is_process(words[0]):
        return Script(UNKNOWN)
    return Stdin(is_shell=True) if words[0] in _STDIN else Argv(words)


def _each_exec(
    words: Words, options: frozenset[str], *, ends: set[str]
) -> list[Started]:
    """The programs of `find … -exec PROGRAM … ;`."""
    found: list[Started] = []
    at = 0
    while at < len(words):
        at += 1
        if words[at - 1] not in options:
            continue
        first = at
        while at < len(words) and words[at] not in ends:
            at += 1
        if first < at:
            found.append(Argv(_replaced(words[first:at], "{}")))
    return found


def _xargs(words: Words) -> list[Started]:
    """What comes in becomes more arguments, or takes the place of the mark."""
    mark = None
    for at, word in enumerate(words):
        if word.startswith("-I") and not word.startswith("--"):
            mark = word[2:] or (words[at + 1] if at + 1 < len(words) else None)
            break
        if word in {"-i", "--replace"} or word.startswith("--replace="):
            mark = word.partition("=")[2] or "{}"
            break
        if not word.startswith("-"):
            break
    words = [word for word in words if word not in {"-i", "--replace"}]
    return [
        Argv(_replaced(one.words, mark) if mark else [*one.words, UNKNOWN])
        if isinstance(one, Argv)
        else one
        for one in _unwrapped(WRAPPERS["xargs"], words)
    ]


def _replaced(words: Words, mark: str, by: str = UNKNOWN) -> Words:
    return [word.replace(mark, by) if mark in word else word for word in words]
