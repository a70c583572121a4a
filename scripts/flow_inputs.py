"""Flows to try out, each made from a number: anything the language has, then spoilt.

`made(number)` is always the same text. Four in ten are flows as people write them.
"""

from __future__ import annotations

import re
from random import Random

SPACES = (*[" "] * 6, "", "\n", "\t", "  ", "\r\n", ' # a -> "b\n', "\n# [\n\n")
WORDS = (
    "Look at it", "größe", "日本", "a -> b || c", "(if failed)~>", "[", "]", "#", "'",
    r"\"", r"\\", r"\n", r"\{x}", '{\\"a\\": [1, {\\"b\\": {}}]}', "{", "}", "{ x }",
    "{}", "${HOME}", "\n", " ", "\\d+", "@x", "$y", "{{", "{x-}",
    "\u2028", "\U0001f600",
)  # fmt: skip
PIECES = (
    "a", "$b", "@c", "@call:d", "retry(2)", "$e :=", '"x {y}"', '"', "'", "->", " -> ",
    "||", " || ", "|", "~>", "(if passed)~>", "(", ")", "[", "]", "{", "}", ":", ",",
    "=", "3", "base", "prompt", "#", "\n", "---\n", "@define-agents", "{{z}}", "\\",
    "\0", " ", "(if {v} > 1)~>", ":out", "\ud800", '$e := {base: "x", prompt: "p"}\n',
    "[a || b]", "retry(2) { a -> b }", '(if {y} contains "x")~> ', 'a:"{x}":y',
    "if", "<-", "=>", "&&", "!", "no", "any", "\ufeff", "\r", "\x1b[31m", "\u202e",
    "\udfff", "\x85", "\u2028", "é", "@", "$", "-", ".", ";", "`", "@c(", "@c(3)",
    "9" * 30, "params: {x: 1}\n", "---\nname: &a [*a]\n---\n", "(if (", "all failed",
)  # fmt: skip
# How deep brackets go; a parser goes deeper, and hostile inputs, too.
MAX_DEPTH = 5


class Writer:
    """Writes a flow that is one, most of the time, with anything the language has."""

    def __init__(self, dice: Random) -> None:
        """Begin with nothing written."""
        self.dice = dice
        self.left = dice.choice((1, 3, 5, 8, 13, 30))
        self.there: list[str] = []
        self.labels: list[str] = []
        self.names = 0
        self.has_run = False
        self.definitions = [f"own-{n}" for n in range(dice.choice((0, 0, 1, 2)))]
        self.constants = [f"TEXT{n}" for n in range(dice.choice((0, 0, 1)))]
        self.params = ["src", "deep-2"] if self.often(0.3) else []

    def often(self, chance: float) -> bool:
        """Whether to do what is done so often."""
        return often(self.dice, chance)

    def gap(self) -> str:
        """Space, or a comment, between two tokens."""
        return self.dice.choice(SPACES)

    def name(self, kind: str) -> str:
        """A name that nobody has had."""
        self.names += 1
        return f"{kind}{self.names}"

    def flow(self) -> str:
        """The whole file."""
        own = [self.definition(name) for name in self.definitions]
        if own and self.often(0.3):
            own = ["@define-agents {", *(self.bare(each) for each in own), "}"]
        texts = [f"${name} := {self.text()}," for name in self.constants]
        body = self.sequence(0) + (" ->" if self.often(0.1) else "")
        last = own if self.often(0.3) else []
        parts = [*self.head(), *texts, *([] if last else own), body, *last]
        return "\n".join(parts)

    def bare(self, definition: str) -> str:
        """A definition as a block may have it, too."""
        return definition[1:].replace(" :=", ":", 1) if self.often(0.5) else definition

    def head(self) -> list[str]:
        """Frontmatter, where there are parameters or a dice says so."""
        if not self.params and self.often(0.9):
            return []
        default = self.dice.choice(("{default: '1'}", "'How (default: 1)'", "1"))
        params = [f"  {name}: {default}" for name in self.params]
        heading = ["Workflow:"] if self.often(0.2) else []
        fields = ["name: made", *(["params:", *params] if params else [])]
        return ["---", *fields, "---", *heading]

    def definition(self, name: str) -> str:
        """An agent of this flow."""
        model = ', model: "opus"' if self.often(0.5) else ""
        return f'${name} := {{base: "Explore", prompt: {self.text()}{model}}}'

    def text(self) -> str:
        """A text in quotes, with references to what is there."""
        words = [self.dice.choice(WORDS) for _ in range(self.dice.randint(0, 3))]
        if self.there and self.often(0.6):
            field = self.dice.choice(("", "", "?", ".found", ".found.0"))
            words.append(f"{{{self.dice.choice(self.there)}{field}}}")
        if self.params and self.often(0.5):
            default = self.dice.choice(("", ":1", ": a b", r":\{\}"))
            words.append(f"{{{{{self.dice.choice(self.params)}{default}}}}}")
        words += [f"${name}" for name in self.constants if self.often(0.2)]
        self.dice.shuffle(words)
        return f'"{"".join(words)}"'

    def sequence(self, depth: int) -> str:
        """Chains, and the guards between them."""
        parts = [self.guard()] if self.has_run and self.often(0.1) else []
        parts.append(self.chain(depth))
        while self.left > 0 and self.often(0.3):
            parts += [self.guard(), self.chain(depth)]
            if self.labels and self.often(0.3):
                parts += [self.guard(), f"@{self.dice.choice(self.labels)}"]
        return self.gap().join(parts) if self.often(0.5) else " ".join(parts)

    def guard(self) -> str:
        """A condition, in one of its three spellings."""
        asked = ["passed", "failed", "no issues", "any failed", "!(all passed)"]
        for name in self.there[-2:]:
            asked += [f'{{{name}}} contains "x"', f"{{{name}.found}} > 1 || failed"]
        condition = self.dice.choice(asked)
        spelt = self.dice.choice(("(if {})~>", "~> (if {})", "({})~>", "-> (if {}) ~>"))
        return spelt.format(condition)

    def chain(self, depth: int) -> str:
        """Steps, one after the other."""
        steps = [self.parallel(depth)]
        while self.left > 0 and self.often(0.5):
            steps.append(self.parallel(depth))
        if self.labels and self.often(0.15):
            steps.append(f"@{self.dice.choice(self.labels)}({self.dice.randint(1, 3)})")
        return f"{self.gap()}->{self.gap()}".join(steps)

    def parallel(self, depth: int) -> str:
        """A step, or several side by side."""
        if self.often(0.8) or depth == MAX_DEPTH:
            return self.step(depth)
        there, labels, made = self.there, self.labels, []
        branches = []
        for _ in range(self.dice.randint(2, 3)):
            # None sees what another makes, and no jump leaves a branch.
            self.there, self.labels = [*there], []
            branches.append(self.step(depth + 1))
            made += self.there[len(there) :]
        self.there, self.labels = there + made, labels
        written = f"{self.gap()}||{self.gap()}".join(branches)
        return f"[{written}]" if self.often(0.7) else written

    def step(self, depth: int) -> str:
        """One step of any kind."""
        self.left -= 1
        if depth < MAX_DEPTH and self.often(0.12):
            labels, count = self.labels, len(self.labels)
            inside = self.sequence(depth + 1)
            self.labels = labels[:count]
            return f"[{self.gap()}{inside}{self.gap()}]"
        if depth < MAX_DEPTH and self.often(0.09):
            labels, self.labels = self.labels, []
            inside = self.sequence(depth + 1)
            self.labels = labels
            return f"retry({self.dice.randint(1, 2)}) {{ {inside} }}"
        if self.often(0.12):
            name = self.name("mark")
            self.labels = [*self.labels, name]
            said = self.said() if self.often(0.6) else ""
            return f"@{self.dice.choice(('', ' '))}{name}{said}"
        self.has_run = True
        if self.often(0.1):
            given = f"(x={self.text()})" if self.often(0.5) else "()"
            return f"@call:leaf{given}{self.output()}"
        agents = ["Explore", "a", "b-c", "plug-in:agent", "größe"]
        agents += [f"${name}" for name in self.definitions]
        return self.dice.choice(agents) + (self.said() if self.often(0.8) else "")

    def said(self) -> str:
        """What a step says, and perhaps a name for what it hears."""
        if self.constants and self.often(0.2):
            return f":${self.constants[0]}"
        return f":{self.text()}{self.output()}"

    def output(self) -> str:
        """A name for what a step says."""
        if self.often(0.5):
            return ""
        self.there = [*self.there, self.name("v")]
        return f":{self.there[-1]}"


def often(dice: Random, chance: float) -> bool:
    """Whether to do what is done so often."""
    return dice.random() < chance


def spoilt(source: str, dice: Random) -> str:
    """The same with a mistake, as typed, cut off, or made to do harm."""
    match dice.randrange(12):
        case 0 | 1 | 2 | 3:
            tokens = re.findall(r"\w+|\s+|.", source, re.S) or [""]
            at, other = (dice.randrange(len(tokens)) for _ in range(2))
            swapped = [tokens[other]], [], [tokens[at]] * 2, [dice.choice(PIECES)]
            tokens[at : at + 1] = dice.choice(swapped)
            return "".join(tokens)
        case 4:
            return source[: dice.randrange(len(source) + 1)]
        case 5:
            return source[dice.randrange(len(source) + 1) :]
        case 6:
            signs = [at for at, sign in enumerate(source) if sign in '"[](){}:->|~@$']
            at = dice.choice(signs or [0])
            return source[:at] + source[at + 1 :]
        case 7:
            return re.sub(r"\d+", lambda _: "9" * dice.randint(1, 40), source, count=1)
        case 8 if often(dice, 0.1):
            much = dice.choice((*PIECES, "[a -> ", "[", "x", "é", "a || ", '"a" '))
            return put(source, much * (10 ** dice.randint(2, 5) // len(much)), dice)
        case 9 if often(dice, 0.005):
            much = dice.choice((*PIECES, "x", "é"))
            return put(source, much * (1_000_000 // len(much)), dice)
        case 10:
            start, end = sorted(dice.randrange(len(source) + 1) for _ in range(2))
            return put(source, source[start:end], dice)
    return put(source, dice.choice(PIECES), dice)


def put(source: str, more: str, dice: Random) -> str:
    """A text with more in it, anywhere."""
    at = dice.randrange(len(source) + 1)
    return source[:at] + more + source[at:]


def made(number: int) -> tuple[str, Random]:
    """The input of a number, and dice to go on with."""
    dice = Random(number)  # noqa: S311 - no secret
    if often(dice, 0.1):
        return "".join(dice.choices(PIECES, k=dice.randint(0, 40))), dice
    source = Writer(dice).flow()
    while often(dice, 0.6):
        source = spoilt(source, dice)
    return source, dice
