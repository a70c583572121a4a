"""The definitions of a flow. Pure.

definition  DEFINE `{` field (`,` field)* `}` | DEFINE text
block       BLOCK `{` definition* `}`
field       NAME `:` text
"""

from __future__ import annotations

from bridge.flow.problems import near
from bridge.flow.syntax_tree import Definition, Text
from bridge.flow.token_reader import Lost, TokenReader

_FIELDS = ("base", "prompt", "model")
_REQUIRED = ("base", "prompt")


class DefinitionReader(TokenReader):
    """Reads the agents and the texts that a flow gives a name."""

    definitions: dict[str, Definition]

    def block(self) -> None:
        """`@define-agents { … }`, as public files have it."""
        self.next()
        opener = self.expect("{", "{ after @define-agents")
        while self.kind == "DEFINE":
            self.definition()
        self.close(opener)

    def definition(self) -> None:
        """`$name := {base: "…", prompt: "…", model: "…"}`, or `$name := "…"`."""
        token = self.next()
        name = token.text[1:-2].rstrip()
        if name in self.definitions or name in self.constants:
            self.problems.add(token.at, f"${name} is defined twice")
        if self.kind != "{":
            self.constants[name] = self.quoted()
            self.take(",")
            return
        fields = self._fields()
        missing = [key for key in _REQUIRED if key not in fields]
        # A field that is misspelt is not missing, too.
        if missing and fields.keys() <= set(_FIELDS):
            self.problems.add(token.at, f"${name} needs a {' and a '.join(missing)}")
        base, model = (self._word(token.at, key, fields) for key in ("base", "model"))
        prompt = fields.get("prompt", ())
        self.definitions[name] = Definition(name, base or "", prompt, model, token.at)
        self.take(",")

    def _fields(self) -> dict[str, Text]:
        opener = self.next()
        self.closers.append("}")
        fields: dict[str, Text] = {}
        while self.kind in {"NAME", "TEXT"}:
            key = self.next()
            try:
                self.expect(":", f": after {key.text}")
                text = self.quoted()
            except Lost:
                self.skip(",")
                text = ()
            self._keep(fields, key.text.strip('"'), key.at, text)
            if not self.take(",") and self.kind in {"NAME", "TEXT"}:
                self.wanted(", between two fields")
        self.closers.pop()
        self.close(opener)
        return fields

    def _keep(self, fields: dict[str, Text], key: str, at: int, text: Text) -> None:
        if key in fields:
            self.problems.add(at, f"{key} stands here twice")
        elif key not in _FIELDS:
            hint = near(key, _FIELDS) or f"; it has {', '.join(_FIELDS)}"
            self.problems.add(at, f"a definition has no {key!r}{hint}")
        fields[key] = text

    def _word(self, at: int, key: str, fields: dict[str, Text]) -> str | None:
        """A field that holds a name: nothing is filled in there."""
        match fields.get(key):
            case None | ():
                return None
            case (str(word),):
                return word
        self.problems.add(at, f"{key} is a name: no references, no parameters")
        return None
