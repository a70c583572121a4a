"""The definitions of a flow. Pure.

definition  DEFINE `{` field (`,` field)* `}` | DEFINE text
block       BLOCK `{` (definition | NAME `:` `{` field (`,` field)* `}`)* `}`
field       NAME `:` text
"""

from __future__ import annotations

from bridge.flow.syntax_tree import FlowAgent, Text
from bridge.flow.token_reader import TokenReader

_FIELDS = ("base", "prompt", "model")
_REQUIRED = ("base", "prompt")


class DefinitionReader(TokenReader):
    """Reads the agents and the texts that a flow gives a name."""

    definitions: dict[str, FlowAgent]

    def block(self) -> None:
        """`@define-agents { … }`, as public files have it."""
        self.next()
        opener = self.expect("{", "{ after @define-agents")
        while self.kind in {"DEFINE", "NAME"}:
            self.definition()
        self.close(opener)

    def definition(self) -> None:
        """`$name := {base: "…", prompt: "…", model: "…"}`, or `$name := "…"`."""
        token = self.next()
        name = token.text.removeprefix("$").removesuffix(":=").rstrip()
        if token.kind == "NAME":
            self.expect(":", f": after {name}")
        if name in self.definitions or name in self.constants:
            self.problems.add(token.at, f"${name} is defined twice")
        if self.kind != "{":
            self.constants[name] = self.quoted()
            self.take(",")
            return
        known = len(self.problems)
        found = self.pairs(":", "base, prompt or model", _FIELDS)
        fields = {key: text for key, (_, text) in found.items()}
        missing = [key for key in _REQUIRED if key not in fields]
        # What cannot be read is not missing, too.
        if missing and len(self.problems) == known:
            self.problems.add(token.at, f"${name} needs a {' and a '.join(missing)}")
        base, model = (self._word(token.at, key, fields) for key in ("base", "model"))
        prompt = fields.get("prompt", ())
        self.definitions[name] = FlowAgent(name, base or "", prompt, model, token.at)
        self.take(",")

    def _word(self, at: int, key: str, fields: dict[str, Text]) -> str | None:
        """A field that holds a name: nothing is filled in there."""
        match fields.get(key):
            case None | ():
                return None
            case (str(word),):
                return word
        self.problems.add(at, f"{key} is a name: no references, no parameters")
        return None
