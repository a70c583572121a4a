"""A flow's source to its syntax tree, by recursive descent. Pure.

    flow        definitions, one sequence, definitions
    sequence    chain (guard chain)*, a guard before the first, too
    guard       `(if …)~>`; also `(…)~>` and `~> (if …)`
    chain       parallel (`->` parallel)*
    parallel    step (`||` step)*
    step        call | mark | sub-flow | retry | group

Every independent mistake is found in one run: after one, the parser goes on as if what
was missing stood there, or passes over the rest of the step.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.agents.files import as_parsed
from bridge.flow import syntax_tree as tree
from bridge.flow.condition import FlowCondition, read_condition
from bridge.flow.head import read_head
from bridge.flow.lexer import HINTS, NO_ELSE, mistake_at
from bridge.flow.problems import InvalidFlow, Problems, TooMany
from bridge.flow.token_reader import DefinitionReader, Lost
from bridge.policy.condition_compiler import InvalidCondition

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.flow.lexer import Token

MAX_DEPTH = 50
MAX_TIMES = 1_000
_NAMES = frozenset({"NAME", "OWN", "MARK"})
_STEPS = frozenset({"NAME", "OWN", "MARK", "CALL", "["})
_CLOSERS = frozenset("]})")
_ENDS = _CLOSERS | {"END", "DEFINE", "BLOCK"}
_GUARDS = frozenset({"(", "TILDE"})
# Editors do not show it, and no prompt has it.
_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_NOTHING = tree.Call("")


def parse_flow(source: str, *, file: str = "flow") -> tree.Flow:
    """Parse a flow; `file` is what problems call it.

    Raises:
        InvalidFlow: with every problem that could be found.
    """
    source = as_parsed(source)
    problems = Problems()
    flow = None
    try:
        for match in _CONTROL.finditer(source):
            message = f"a flow has no character U+{ord(match[0]):04X}"
            problems.add(match.start(), message)
        source = _CONTROL.sub(" ", source)
        head, at = read_head(source, problems)
        flow = _Parser(source, at, problems).flow(head)
    except TooMany:
        pass
    if flow is None or problems:
        raise InvalidFlow(file, source, problems)
    return flow


class _Parser(DefinitionReader):
    """Reads the steps of a flow."""

    def flow(self, head: tree.Head) -> tree.Flow:
        """The whole file."""
        self.definitions = {}
        self.conditions: dict[str, FlowCondition] = {}
        body: tree.Sequence | None = None
        while self.kind != "END":
            if self.kind == "DEFINE":
                self._read(self.definition)
            elif self.kind == "BLOCK":
                self._read(self.block)
            else:
                if body is not None and not self.problems:
                    self.wanted("-> between the steps before and these")
                body = self.sequence()
        if body is None and not self.problems:
            self.wanted("a step")
        definitions = tuple(self.definitions.values())
        return tree.Flow(body or tree.Sequence(()), definitions, head, self.source)

    def _read(self, definition: Callable[[], None]) -> None:
        try:
            definition()
        except Lost:
            self.skip()

    def sequence(self) -> tree.Sequence:
        """`sequence: guard? chain (guard chain)*`."""
        segments = []
        while True:
            at = self.token.at
            guard = self.guard() if self.kind in _GUARDS else (None, at)
            while self.kind == "(":
                message = "two conditions in a row: write (if … && …)~>"
                self.problems.add(self.token.at, message)
                self.guard()
            segments.append(tree.Segment(self.chain(), guard[0], at, guard[1]))
            if self.kind not in _GUARDS:
                return tree.Sequence(tuple(segments))

    def guard(self) -> tuple[FlowCondition | None, int]:
        """`guard: '(' 'if'? condition ')' '~>' | '~>' '(' 'if'? condition ')'`.

        Returns the condition, and where it begins.
        """
        tilde = self.take("TILDE")
        if tilde and self.kind != "(":
            message = "~> needs a condition: (if …)~>; without one, write ->"
            # Behind a step that was passed over, its condition was, too.
            if not self.problems or self.tokens[self.index - 2].kind != ")":
                self.problems.add(tilde.at, message)
            return None, 0
        opener = self.next()
        or_group = "" if self.token.text == "if" else ", or a group in [ ]"
        if not or_group:
            self.next()
        start = self.tokens[self.index - 1].end
        end = self._end_of_condition(opener)
        while self.kind == ")":
            self.problems.add(self.next().at, "this ) closes nothing")
        if self.ahead(":", "NAME"):
            message = "a condition has no name: write it again where it is asked again"
            self.problems.add(self.next().at, message)
            self.next()
        if not self.take("TILDE") and not tilde:
            self.wanted(f"~> after a condition{or_group}")
            end = 0
        self.take("ARROW")
        return self._condition(start, end) if end else (None, 0)

    def _end_of_condition(self, opener: Token) -> int:
        """Pass the rest of a condition and the bracket that closes it."""
        depth = 1
        while self.kind not in {"END", "ARROW", "TILDE", "DEFINE"}:
            token = self.next()
            depth += (token.kind == "(") - (token.kind == ")")
            if not depth:
                return token.at
        self.unclosed(opener)
        return 0

    def _condition(self, start: int, end: int) -> tuple[FlowCondition | None, int]:
        source = self.source[start:end]
        at = start + len(source) - len(source.lstrip())
        source = source.strip()
        if source == "else":
            self.problems.add(at, NO_ELSE)
            return None, at
        try:
            if source not in self.conditions:
                self.conditions[source] = read_condition(source)
        except InvalidCondition as error:
            for problem in error.problems:
                self.problems.add(at + problem.at, problem.message)
            return None, at
        return self.conditions[source], at

    def chain(self) -> tuple[tree.Step, ...]:
        """`chain: parallel ('->' parallel)*`; an arrow may be left over at the end."""
        steps = [self.parallel()]
        while True:
            if self.take("ARROW"):
                if self.kind in _GUARDS or self._is_end():
                    return tuple(steps)
            elif self.kind in _CLOSERS and self.kind not in self.closers:
                token = self.next()
                self.problems.add(token.at, f"this {token.text} closes nothing")
                if self.kind not in _STEPS:
                    continue
            elif self.kind in _GUARDS or self._is_end():
                return tuple(steps)
            elif not self._goes_on():
                continue
            steps.append(self.parallel())

    def _goes_on(self) -> bool:
        """Say what is missing between two steps; whether a step follows here."""
        before = self.tokens[self.index - 1]
        touches = before.kind == "TEXT" and before.end == self.token.at
        if self.kind == "NAME" and touches and not before.is_cut:
            self.problems.add(self.token.at, 'a " inside a text is written \\"')
            self.skip()
            return False
        if not self._is_condition():
            self.wanted("-> or || between two steps", HINTS)
        if self.kind not in _STEPS:
            self.skip()
            return self.take("BAR") is not None
        return True

    def _is_end(self) -> bool:
        """Whether nothing follows here; passes a comma that is left over."""
        if self.kind == "," and self.tokens[self.index + 1].kind in _ENDS:
            self.next()
        if self.source.startswith("---", self.token.at):
            self.end()
        return self.kind in _ENDS

    def parallel(self) -> tree.Step:
        """`parallel: step ('||' step)*`."""
        at = self.token.at
        branches = [self.step()]
        while self.take("BAR"):
            if self.kind in _GUARDS:
                message = "a guard is for the whole group: write || [(if …)~> …]"
                self.problems.add(self.token.at, message)
                self.guard()
            branches.append(self.step())
        return branches[0] if len(branches) == 1 else tree.Parallel(tuple(branches), at)

    def step(self) -> tree.Step:
        """`step: call | mark | subflow | retry | group`."""
        try:
            if self.kind in _NAMES and (wrong := mistake_at(self.tokens, self.index)):
                self.refuse(self.tokens[self.index + 1].at, wrong)
            match self.kind:
                case "MARK":
                    return self.mark()
                case "CALL":
                    return self.subflow()
                case "[":
                    return self.group()
                case "NAME" if self._is_retry():
                    return self.retry()
                case "NAME" if self._is_condition():
                    message = "a condition stands in brackets: (if …)~>"
                    self.problems.add(self.token.at, message)
                    self.skip()
                    self.take("TILDE")
                    return self.step() if self.kind in _STEPS else _NOTHING
                case "NAME" | "OWN":
                    return self.call()
            self.lose("an agent", HINTS)
        except Lost:
            self.skip()
        return _NOTHING

    def call(self) -> tree.Call:
        """`call: (OWN | NAME | NAME ':' NAME) (':' text (':' NAME)?)?`."""
        token = self.next()
        agent = token.text
        if token.kind == "NAME" and self.ahead(":", "NAME"):
            self.next()
            name = self.next()
            if self.kind in {"NAME", "NUMBER"}:
                message = f'an instruction stands in double quotes: {agent}:"…"'
                self.problems.add(name.at, message)
                self.skip_words(name.at)
                raise Lost
            if agent == "tool":
                self.refuse(token.at, "tool: is reserved; name an agent")
            agent = f"{agent}:{name.text}"
        return tree.Call(agent, *self._said(), token.at)

    def _said(self) -> tuple[tree.Text | None, str | None]:
        """`(':' text (':' NAME)?)?`."""
        if not self.take(":"):
            return None, None
        return self.quoted(), self._output()

    def _output(self) -> str | None:
        if not self.take(":"):
            return None
        name = self.expect("NAME", "a name for what the step says").text
        if self.kind == ":":
            self.refuse(self.token.at, "what a step says has one name")
        return name

    def mark(self) -> tree.Mark:
        """`mark: MARK ('(' NUMBER ')')? (':' text (':' NAME)?)?`."""
        token = self.next()
        name = token.text[1:].lstrip()
        if name == "call":
            self.lose("the name of a flow: @call:name")
        bound = self.times() if self.ahead("(", "NUMBER", ")") else None
        text, output = self._said()
        return tree.Mark(name, text, output, bound, token.at)

    def times(self) -> int:
        """`times: '(' NUMBER ')'`."""
        self.expect("(", "how often, in brackets: (3)")
        number = self.expect("NUMBER", "a number")
        self.expect(")", ") after the number")
        times = int(number.text[:9])
        if 1 <= times <= MAX_TIMES:
            return times
        self.problems.add(number.at, f"expected a number from 1 to {MAX_TIMES:,}")
        return 1

    def subflow(self) -> tree.SubFlow:
        """`subflow: CALL ('(' (argument (',' argument)*)? ')')? (':' NAME)?`."""
        token = self.next()
        is_touching = self.kind == "(" and self.token.at == token.end
        is_called = is_touching or self.ahead("(", "NAME", "=")
        pairs = self.pairs("=", 'a parameter: name="…"') if is_called else {}
        arguments = tuple((key, text) for key, (_, text) in pairs.items())
        name = token.text.rpartition(":")[2].strip()
        return tree.SubFlow(name, arguments, self._output(), token.at)

    def _is_condition(self) -> bool:
        """Whether a condition stands here without its brackets."""
        kinds = (("NAME", "NAME"), ("NAME", ":", "NAME"))
        return self.token.text == "if" and any(self.ahead(*each) for each in kinds)

    def _is_retry(self) -> bool:
        behind = self.tokens[self.index + 1].kind
        return self.token.text == "retry" and behind in ("(", "{", "NUMBER")

    def retry(self) -> tree.Step:
        """`retry: 'retry' times '{' sequence '}'`."""
        token = self.next()
        times = self.times()
        if self.kind != "{":
            self.lose("{ … } around what is tried again")
        return tree.Retry(times, self._bracketed(), token.at)

    def group(self) -> tree.Step:
        """`group: '[' sequence ']'`; `[a]` and `[a || b]` are what is in them."""
        at = self.token.at
        body = self._bracketed()
        match body.segments:
            case (tree.Segment((step,), None),):
                return step
        return tree.Group(body, at)

    def _bracketed(self) -> tree.Sequence:
        if len(self.closers) >= MAX_DEPTH:
            message = f"brackets go {MAX_DEPTH} deep at most"
            self.refuse(self.token.at, message)
        opener = self.next()
        self.closers.append("]" if opener.kind == "[" else "}")
        body = self.sequence()
        self.closers.pop()
        self.close(opener)
        return body
