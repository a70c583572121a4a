"""The programs that a shell command would start. Pure.

    command                                runs "pytest"
    cd x && uv run pytest -q               True
    git commit -m 'run pytest'             False
    eval "$CHECKS" # pytest                MAY

What the text of a command says is what counts: whether a test before `&&` holds, how
often a loop goes round, or what a script or a Makefile does is not asked. MAY is for
what only a running shell knows, for code in other languages, and for what cannot be
read at all.
"""

from __future__ import annotations

import re

from bridge.policy.command_reading import Reading
from bridge.policy.shell_scanner import Scanner
from bridge.policy.shell_words import MAX_LENGTH, UNKNOWN, program, written
from bridge.policy.wrapper_table import Argv, Code, Foreign, Opaque, Script, Stdin
from bridge.policy.wrappers import unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from bridge.policy.shell_grammar import Found
    from bridge.policy.wrapper_table import Started

# What prints settings for the shell that started it, as its manual says to use it:
# `eval "$(ssh-agent -s)"`, `source <(kubectl completion bash)`.
_SETTINGS = re.compile(
    r"""
    "?(?: \$\( | <\( | ` ) [ ]* (?:[\w./-]*/)?
    (?: ssh-agent | dircolors | resize | lesspipe | starship[ ]init | zoxide[ ]init
      | brew[ ]shellenv | direnv[ ](?:hook|export) | (?:py|rb|nod|go)env[ ]init
      | (?:fnm|opam)[ ]env | mise[ ](?:activate|env) | conda[ ]shell[.]\w+
      | (?:minikube|podman)[ ]docker-env | docker-machine[ ]env
      | (?:kubectl|helm|gh|npm|pip|uv|rustup|docker|hostbridge)[ ]completions? )
    (?:[ ]+[\w./:=@,+-]+)* [ ]* [)`]"?
    """,
    re.X,
)
# How deeply shells may start shells, and how many texts may be read for one command.
_MAX_DEPTH = 8
_MAX_TEXTS = 200
_MAX_SIZE = 3 * MAX_LENGTH
_MAX_WRAPPERS = 30
# What they read becomes the value of a variable.
_READING = frozenset({"read", "readarray", "mapfile"})
# `X=f; $X`: it may be any function.
_ANY = "*"
_NAMES = re.compile(r"[^\s;|&()'\"$`]+")


def _reads_settings(words: list[str]) -> bool:
    """Whether a shell reads what a program prints for it, and nothing else."""
    is_read = program(words[0]) in {"eval", "source", "."}
    return is_read and _SETTINGS.fullmatch(written(words[1:])) is not None


def read(command: str) -> Reading:
    """Find out what a command would start; never raises."""
    reader = _Reader(command)
    reader.text(command, stdin=None, is_sure=True, depth=0)
    return reader.found


class _Calls:
    """The commands of a text, by the function that they stand in.

    Attributes:
        all: that function, or ""; which ones a command names; and the command.
        runners: functions that may start what they are given.
        readers: those in which a shell may read what is given.
    """

    def __init__(self) -> None:
        self.all: list[tuple[str, set[str], Found]] = []
        self.runners: set[str] = set()
        self.readers: set[str] = set()

    def add(self, caller: str, one: Found, functions: Collection[str]) -> set[str]:
        """Note a command; the functions that it calls or names."""
        # Named but not called: by `trap`, `export -f`, another shell.
        named = {part for word in one.words for part in _NAMES.findall(word)}
        is_any = program(one.words[0]) is None
        called = {_ANY} if is_any else named.intersection(functions)
        self.all.append((caller, called, one))
        return called

    def reaching(self, functions: set[str]) -> set[str]:
        """These functions, and all that call them in turn."""
        callers: dict[str, set[str]] = {}
        for caller, named, _ in self.all:
            for name in named:
                callers.setdefault(name, set()).add(caller)
        found, ahead = set[str](), [*functions, _ANY] if functions else []
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead += callers.get(name, ())
        return found


class _Reader:
    def __init__(self, whole: str) -> None:
        self.found = Reading(whole)
        self.texts = 0
        self.size = 0
        # How many shells read what is given to what they stand in.
        self.shells = 0

    def text(
        self, text: str, *, stdin: Any, is_sure: bool, depth: int, origin: str = ""
    ) -> None:
        """Read what a shell reads; `origin` is the command that gives it to one."""
        if UNKNOWN in text and depth:
            # An expansion in it can hold any command.
            self.found.opaque.append((f"{text} {origin}", False, origin))
            # A here-document ends with what its expansions may stand for.
            if re.search(r"\w", text.partition("\n# ")[0]) is None:
                self.found.hidden.append(origin)
            text = text.replace(UNKNOWN, "${_}")
        self.texts += 1
        self.size += len(text)
        is_too_much = self.texts > _MAX_TEXTS or self.size > _MAX_SIZE
        problem = ""
        if depth and (depth > _MAX_DEPTH or is_too_much):
            problem = "too many shells inside one another"
        elif len(text) > MAX_LENGTH:
            problem = f"the command has more than {MAX_LENGTH} characters"
        elif "\0" in text:
            problem = "the command holds a NUL, which no shell takes"
        if problem:
            self.found.problems.append(problem)
        else:
            self.scanned(Scanner(text, stdin), is_sure=is_sure, depth=depth)

    def scanned(self, scanner: Scanner, *, is_sure: bool, depth: int) -> None:
        """Read a text's commands, then the bodies of functions that they name."""
        found, functions, before = self.found, scanner.functions, self.open_ends()
        found.problems += scanner.problems
        found.bodies += scanner.bodies
        found.loose += scanner.loose
        found.opaque += scanner.opaque
        found.assigned(scanner.assigned)
        calls = _Calls()
        if self.open_ends() > before:
            # A function's words may be evaluated once more.
            calls.runners |= functions.keys()
        # Then a function may be gone again.
        has_unset = any("unset" in one.words for one in scanner.all_commands)
        for one in scanner.doubtful:
            self.command(one.words, stdin=one.stdin, is_sure=False, depth=depth)
        commands, done = [("", one) for one in scanner.commands], set[str]()
        while commands:
            ran, said = set[str](), set[str]()
            for caller, one in commands:
                is_program = (
                    scanner.hides_from.get(one.words[0], one.at) >= one.at or has_unset
                )
                ends = self.open_ends(), self.shells
                if is_program:
                    self.command(
                        one.words, stdin=one.stdin, depth=depth,
                        is_sure=is_sure and one.words[0] not in functions,
                    )  # fmt: skip
                calls.runners |= {caller} if self.open_ends() > ends[0] else set()
                calls.readers |= {caller} if self.shells > ends[1] else set()
                said |= calls.add(caller, one, functions)
                ran |= {one.words[0]} & functions.keys()
            called = ({*functions} if _ANY in said else said) - done
            is_sure = is_sure and called <= ran
            commands = [
                (name, one)
                for name in sorted(called) for body in functions[name] for one in body
            ]  # fmt: skip
            done |= called
        if functions:
            # `$(f)` is what a function prints.
            open_texts = [*found.loose, *(origin for _, _, origin in found.opaque)]
            names = {name for text in open_texts for name in _NAMES.findall(text)}
            printed = [] if names.isdisjoint(functions) else [*functions.values()]
            found.loose += [
                written(one.words)
                for bodies in printed for body in bodies for one in body
            ]  # fmt: skip
        runners, readers = calls.reaching(calls.runners), calls.reaching(calls.readers)
        for _, named, one in calls.all:
            if named & runners:
                self.given(one, depth=depth, is_shell=not named.isdisjoint(readers))

    def open_ends(self) -> int:
        """How much was met of which only a running shell knows what it is."""
        found = self.found
        return len(found.opaque) + len(found.foreign) + len(found.hidden) + self.shells

    def given(self, one: Found, *, depth: int, is_shell: bool) -> None:
        """Read what is given to a function that may start it."""
        words, stdin, origin = one.words[1:], one.stdin, written(one.words)
        if words:
            self.found.foreign.append((words, origin))
            self.command(words, stdin=None, is_sure=False, depth=depth)
        if stdin is not None:
            reads = Stdin(is_shell=True) if is_shell else Foreign([])
            self.further(reads, origin, stdin, is_sure=False, depth=depth)

    def command(
        self, words: list[str], *, stdin: Any, is_sure: bool, depth: int
    ) -> None:
        """Note a program, and all that it starts in turn."""
        outermost = ""
        for _ in range(_MAX_WRAPPERS):
            origin = written(words)
            outermost = outermost or origin
            name = program(words[0])
            if name is None:
                self.found.opaque.append((origin, False, origin))
                # `find . -name pytest -exec {} ';'`
                self.found.loose += [outermost] if outermost != origin else []
            elif name == "set" or words[:2] == ["printf", "-v"]:
                self.found.loose.append(origin)
            elif name in _READING and stdin:
                self.found.loose.append(f"{origin} {stdin}")
            (self.found.started if is_sure else self.found.perhaps).append(words)
            self.found.assigned(words[1:])
            if " " in words[0]:
                # Perhaps for a shell: `sudo -s -- 'pytest -q'`.
                self.text(words[0], stdin=None, is_sure=False, depth=depth + 1)
            is_sure = is_sure and name not in {"alias", "ssh"}
            if _reads_settings(words):
                return
            started = unwrap(words)
            last = started.pop() if started else None
            for one in started:
                self.further(one, origin, stdin, is_sure=is_sure, depth=depth)
            if not isinstance(last, Argv) or not last.words:
                self.further(last, origin, stdin, is_sure=is_sure, depth=depth)
                return
            words = last.words
        self.found.problems.append("too many wrappers around one another")

    def further(
        self,
        one: Started | None,
        origin: str,
        stdin: Any,
        *,
        is_sure: bool,
        depth: int,
    ) -> None:
        """Read what a wrapper starts. `stdin`: its text, None, or UNKNOWN."""
        if isinstance(one, Foreign):
            self.found.foreign.append((one.words, origin))
            if stdin == UNKNOWN:
                self.found.fed.append(origin)
            elif stdin:
                self.found.opaque.append((stdin, True, origin))
            return
        if isinstance(one, Code):
            self.code(one, origin, stdin)
            return
        if isinstance(one, Argv):
            if one.words:
                self.command(one.words, stdin=stdin, is_sure=is_sure, depth=depth)
            return
        if isinstance(one, Script | Opaque):
            text, is_shell = one.text, isinstance(one, Script)
        elif one is None or stdin is None:
            self.shells += one is not None
            return
        else:
            text, is_shell, stdin = stdin, one.is_shell, None
            origin = f"… | {origin}" if text == UNKNOWN else origin
        if is_shell:
            self.text(
                text, stdin=stdin, is_sure=is_sure, depth=depth + 1, origin=origin
            )
        else:
            is_known = text is not None and UNKNOWN not in text
            said = text if is_known else f"{text or ''} {origin}"
            self.found.opaque.append((said, is_known, origin))

    def code(self, one: Code, origin: str, stdin: Any) -> None:
        """Note code, unless it is known to start nothing that it is given."""
        from bridge.policy.foreign_code import starts_nothing

        text = stdin if one.text is None else one.text
        is_known = text is not None and UNKNOWN not in text
        if is_known and starts_nothing(one.language, text, one.words):
            return
        self.found.foreign.append((one.words, origin))
        if text is None:
            return
        for said in {text, stdin or text} - {UNKNOWN}:
            is_known = UNKNOWN not in said
            self.found.opaque.append(
                (said if is_known else f"{said} {origin}", is_known, origin)
            )
        if UNKNOWN in {text, stdin}:
            self.found.fed.append(origin)
            self.found.opaque += [] if one.text is None else [(origin, False, origin)]
        self.found.coded.append(origin)
