"""The syntax tree made of what the grammar finds: one method per rule. Pure."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from lark import Token, Transformer

from bridge.flow import tree
from bridge.flow.text import parse_text
from bridge.policy.condition_problem import Problem

_IF = re.compile(r"\(\s*(?:if\b\s*)?(.*?)\s*\)", re.S)
_FIELDS = ("base", "prompt", "model")
_MAX_TIMES = 1_000

Children = list[Any]


class TreeBuilder(Transformer[Token, Any]):
    """Makes the tree of a flow; what is wrong in it is in `problems`."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[Problem] = []
        self._constants: dict[str, tree.Text] = {}

    def start(self, children: Children) -> tree.Flow:
        definitions: list[tree.Definition] = []
        body = tree.Sequence(())
        for child in children:
            if isinstance(child, tree.Sequence):
                body = child
            else:
                definitions += child
        return tree.Flow(body, tuple(definitions))

    def agent(self, children: Children) -> list[tree.Definition]:
        define, *pairs = children
        fields: dict[str, tree.Text] = {}
        for key, text in pairs:
            if key not in _FIELDS:
                self._complain(key, _unknown_field(key))
            elif key in fields:
                self._complain(key, f"{key} stands here twice")
            fields[str(key)] = text
        name = _name(define)
        is_misspelt = not fields.keys() <= set(_FIELDS)
        for key in ("base", "prompt"):
            if key not in fields and not is_misspelt:
                self._complain(define, f"${name} needs a {key}")
        base, model = (self._word(define, key, fields) for key in ("base", "model"))
        prompt = fields.get("prompt", ())
        return [tree.Definition(name, base, prompt, model or None, _at(define))]

    def pair(self, children: Children) -> Children:
        return children

    def constant(self, children: Children) -> list[tree.Definition]:
        define, text = children
        if _name(define) in self._constants:
            self._complain(define, f"${_name(define)} is defined twice")
        self._constants[_name(define)] = text
        return []

    def block(self, children: Children) -> list[tree.Definition]:
        _block, *definitions = children
        return [each for found in definitions for each in found]

    def sequence(self, children: Children) -> tree.Sequence:
        """`sequence: chain guarded* | guarded+`."""
        segments = [
            child if isinstance(child, tree.Segment) else tree.Segment(child)
            for child in children
        ]
        return tree.Sequence(tuple(segments))

    def guarded(self, children: Children) -> tree.Segment:
        guard, steps = children
        found = _IF.fullmatch(guard)
        condition = found[1] if found else ""
        if not condition:
            self._complain(guard, "a condition is needed here: (if …)~>")
        at = _at(guard) + (found.start(1) if found else 0)
        return tree.Segment(steps, condition, at)

    def chain(self, children: Children) -> tuple[tree.Step, ...]:
        return tuple(child for child in children if not isinstance(child, Token))

    def parallel(self, children: Children) -> tree.Step:
        branches = self.chain(children)
        if len(branches) == 1:
            return branches[0]
        return tree.Parallel(branches, branches[0].at)

    def group(self, children: Children) -> tree.Step:
        """`[a || b]` and `[a]` are what is in them."""
        (body,) = children
        first = body.segments[0]
        if len(body.segments) == 1 and len(first.steps) == 1 and not first.condition:
            only: tree.Step = first.steps[0]
            return only
        return tree.Group(body, first.at or first.steps[0].at)

    def plain(self, children: Children) -> tree.Call:
        return self._call(children[0], str(children[0]), children[1:])

    def of_plugin(self, children: Children) -> tree.Call:
        plugin, name, *others = children
        if plugin == "tool":
            self._complain(plugin, "tool: is reserved; an agent has another name")
        return self._call(plugin, f"{plugin}:{name}", others)

    def _call(self, first: Token, agent: str, others: Children) -> tree.Call:
        text, output = (*others, None, None)[:2]
        return tree.Call(agent, text, output and str(output), _at(first))

    def own(self, children: Children) -> tree.Call:
        return self.plain(children)

    def mark(self, children: Children) -> tree.Mark:
        mark, *others = children
        bound = None
        if others and isinstance(others[0], Token):
            bound = self._times(others.pop(0))
        text, output = (*others, None, None)[:2]
        name = mark[1:].strip()
        return tree.Mark(name, text, output and str(output), bound, _at(mark))

    def subflow(self, children: Children) -> tree.SubFlow:
        call, *others = children
        arguments = [child for child in others if isinstance(child, tuple)]
        named: dict[str, tree.Text] = {}
        for key, text in arguments:
            if key in named:
                self._complain(key, f"{key} stands here twice")
            named[str(key)] = text
        output = str(others[-1]) if others and isinstance(others[-1], Token) else None
        name = call.partition(":")[2].strip()
        return tree.SubFlow(name, tuple(named.items()), output, _at(call))

    def argument(self, children: Children) -> tuple[Token, tree.Text]:
        key, text = children
        return key, text

    def retry(self, children: Children) -> tree.Retry:
        retry, number, body = children
        return tree.Retry(self._times(number), body, _at(retry))

    def text(self, children: Children) -> tree.Text:
        (token,) = children
        if token.type == "STRING":
            return parse_text(token, _at(token))
        name = token[1:]
        if name not in self._constants:
            near = get_close_matches(name, self._constants, n=1)
            hint = f"; did you mean ${near[0]}?" if near else ""
            self._complain(token, f"no text is called {token} up to here{hint}")
        return self._constants.get(name, ())

    def _times(self, number: Token) -> int:
        if len(number) > len(str(_MAX_TIMES)) or not 1 <= int(number) <= _MAX_TIMES:
            self._complain(number, f"expected a number from 1 to {_MAX_TIMES:,}")
            return 1
        return int(number)

    def _word(self, place: Token, key: str, fields: dict[str, tree.Text]) -> str:
        """A field that holds a name: nothing is filled in there."""
        match fields.get(key, ()):
            case ():
                return ""
            case (str(word),):
                return word
        self._complain(place, f"{key} is a name, without references or parameters")
        return ""

    def _complain(self, place: Token, message: str) -> None:
        self.problems.append(Problem(_at(place), message))


def _unknown_field(key: str) -> str:
    near = get_close_matches(key, _FIELDS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(_FIELDS)}"
    return f"a definition has no {key}; {hint}"


def _name(define: Token) -> str:
    return define[1:].removesuffix(":=").strip()


def _at(token: Token) -> int:
    return token.start_pos or 0
