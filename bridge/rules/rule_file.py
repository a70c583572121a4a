"""A rules file: what it may hold, its problems, and the compiled rules.

    variables: {validation_model: haiku}
    on_before_tool:
      - name: delegate-checks
        when: validation_model and runs(command, "pytest")
        spawn_agent: {agent: validation-runner, prompt: "Run: {{ command }}"}

Every problem is found at once, each with line and column. A rule that has one is not
in force; one that would block is kept as broken, so that it blocks and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from bridge.agents.definition import StrictModel
from bridge.agents.diagnostic import Diagnostic, Place, format_place
from bridge.agents.foreign_fields import foreign_rules
from bridge.agents.validate import check
from bridge.agents.yaml_source import Tree, read_tree
from bridge.hints import did_you_mean
from bridge.policy.rule_set import EVENTS
from bridge.rules.rule_parts import CAN_BLOCK, RuleReader, wrong_names
from bridge.store.location import with_tilde

if TYPE_CHECKING:
    Json = dict[str, Any]

Layer = Literal["built-in", "user", "project"]
RULE_EVENTS = tuple(dict.fromkeys(EVENTS.values()))
Rules = Annotated[list[Any], Field(default_factory=list)]
Variables = Annotated[dict[str, Any], Field(default_factory=dict)]


class RulesFile(StrictModel):
    """The fields of a rules file; each rule is checked for itself."""

    variables: Variables
    on_session_start: Rules
    on_user_prompt: Rules
    on_before_tool: Rules
    on_after_tool: Rules
    on_subagent_stop: Rules
    on_stop: Rules


class SpawnAgent(StrictModel):
    """Work for an agent; `block` says whether it takes the place of the call."""

    agent: Annotated[str, Field(min_length=1)]
    prompt: Annotated[str, Field(min_length=1)]
    arguments: Variables
    model: str | None = None
    block: bool | None = None


class RuleFields(StrictModel):
    """One rule as it is written."""

    name: Annotated[str, Field(pattern=r"^[^\s].{0,79}$")] | None = None
    when: Any = None
    tools: Any = None
    enabled: bool = True
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0
    required: bool = False
    on_error: Literal["block", "skip"] = "block"
    spawn_agent: SpawnAgent | None = None
    block: Annotated[str, Field(min_length=1)] | None = None
    inject_context: Annotated[str, Field(min_length=1)] | None = None
    set_variable: dict[str, Any] | None = None
    increment_variable: Any = None


EFFECTS = (
    "spawn_agent", "block", "inject_context", "set_variable", "increment_variable",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a file, as written and compiled.

    `code` is what `bridge.policy.rule_set` reads; None if the rule is broken and
    blocks nothing. `lacks` says why its agent cannot be asked, where that was checked.
    """

    event: str
    name: str
    line: int
    fields: RuleFields
    code: Json | None
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rules file that was read; `is_read` is false if it is not YAML of this kind."""

    file: Path
    layer: Layer
    is_read: bool = True
    variables: Json = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    digests: dict[Path, str] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The problems that keep a rule, or all, from being in force."""
        return tuple(p for p in self.problems if p.level == "error")


@dataclass(frozen=True, slots=True)
class Below:
    """What the layers below say: their variables, and rules that can be named."""

    variables: Mapping[str, Any] = field(default_factory=dict)
    named: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    # Variables of the user, which a project cannot set.
    kept: frozenset[str] = frozenset()


def _is_foreign(tree: Tree) -> bool:
    """Whether the rules are in a form that is not ours; the tree says so then."""
    if not isinstance(tree.value, dict) or tree.value.keys() & set(RULE_EVENTS):
        return False
    other = foreign_rules(tree.value)
    if other is not None:
        tree.error((other.field,), f"this is {other.what}: {other.way}")
    return other is not None


def read_rules(
    text: str,
    file: Path,
    layer: Layer,
    below: Below = Below(),
    *,
    rule_set: str = "",
    check_agent: Callable[[str], str | None] = lambda _name: None,
) -> RuleFile:
    """Read the text of a rules file.

    Args:
        text: what the file holds.
        file: where it is.
        layer: whose it is.
        below: what the layers below say.
        rule_set: the set that the rules belong to; the usual one is empty.
        check_agent: what is wrong with the name of an agent; None if nothing is.
    """
    tree = read_tree(text, file, keeps_source=True, may_be_empty=True)
    is_foreign = _is_foreign(tree)
    _, salvaged = check(RulesFile, tree, {} if is_foreign else None)
    tree.problems = [_by_our_name(problem) for problem in tree.problems]
    if is_foreign or not isinstance(tree.value, dict):
        return RuleFile(file, layer, is_read=False, problems=tuple(tree.problems))
    kept = below.kept if layer == "project" else frozenset()
    for name in salvaged.variables:
        for why in wrong_names([name], kept):
            tree.error(("variables", name), why)
    found = [each for event in RULE_EVENTS for each in _parsed(tree, event, below)]
    known = {*below.variables, *salvaged.variables}
    known |= _set_by(parsed.fields for parsed in found)
    codes = []
    for parsed in found:
        reader = RuleReader(tree, parsed.place, known, parsed.inherited, check_agent)
        codes.append(_compiled(reader, parsed.fields, kept))
    _check_names(tree, found)
    errors: dict[Place, list[Diagnostic]] = {}
    for problem in sorted(tree.problems, key=_position):
        if problem.level == "error":
            errors.setdefault(problem.place[:2], []).append(problem)
    common = {"layer": layer, "file": with_tilde(file)} | (
        {"set": rule_set} if rule_set else {}
    )
    rules = []
    for parsed, sound in zip(found, codes, strict=True):
        agent = parsed.fields.spawn_agent
        lacks = (agent and check_agent(agent.agent)) or ""
        if lacks:
            # An error, though not of the rule: it is in force, and is told so.
            inherits = "spawn_agent" in parsed.inherited
            tree.error(
                parsed.place + (() if inherits else ("spawn_agent", "agent")), lacks
            )
        wrongs = errors.get(parsed.place)
        code = _broken(parsed, wrongs) if wrongs else sound
        line = tree.line_of(parsed.place)
        if code is not None:
            code |= {**common, "name": parsed.name, "line": line}
        rules.append(Rule(parsed.event, parsed.name, line, parsed.fields, code, lacks))
    return RuleFile(
        file,
        layer,
        variables=dict(salvaged.variables),
        rules=tuple(rules),
        problems=tuple(sorted(tree.problems, key=_position)),
    )


def _position(problem: Diagnostic) -> tuple[int, int]:
    return problem.line, problem.column or 0


def _by_our_name(problem: Diagnostic) -> Diagnostic:
    """An event by the client's name is unknown; this says ours."""
    ours = EVENTS.get(format_place(problem.place))
    why = f"unknown event; it is named {ours} here"
    return problem if ours is None else replace(problem, message=why)


class Parsed(NamedTuple):
    """The fields of a rule, which of them are written, and which are from below."""

    place: Place
    fields: RuleFields
    written: frozenset[str]
    inherited: frozenset[str]

    @property
    def event(self) -> str:
        """What the rule is about."""
        return str(self.place[0])

    @property
    def name(self) -> str:
        """What it is called; without a name, by its place."""
        return self.fields.name or format_place(self.place)


def _parsed(tree: Tree, event: str, below: Below) -> Iterator[Parsed]:
    """The rules of an event; one that only names a rule from below gets its fields."""
    listed = tree.value.get(event)
    for position, value in enumerate(listed if isinstance(listed, list) else ()):
        place = (event, position)
        inherited: frozenset[str] = frozenset()
        if isinstance(value, dict) and not set(EFFECTS) & value.keys():
            named = below.named.get((event, str(value.get("name"))))
            if named is not None:
                inherited = frozenset(named.keys() - value.keys())
                value = {**named, "enabled": True, **value}  # noqa: PLW2901
        _, salvaged = check(RuleFields, tree, value, place)
        written = frozenset(value if isinstance(value, dict) else ())
        for name in sorted(map(str, written)):
            if value.get(name, "") is None:
                tree.error((*place, name), "is empty: give it a value, or leave it out")
        if isinstance(value, dict) and not set(EFFECTS) & written:
            effects = f"{', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}"
            near = _near_rules(str(value.get("name")), event, below)
            tree.error(place, f"does nothing: give it {effects}{near}")
        yield Parsed(place, salvaged, written, inherited)


def _near_rules(name: str, event: str, below: Below) -> str:
    """Rules from below that may have been meant by a rule that says nothing else."""
    events = {each: of for of, each in below.named}
    if name in events:
        return f"; the rule {name} is one of {events[name]}, not of {event}"
    return did_you_mean(name, events)


def _set_by(rules: Iterable[RuleFields]) -> set[str]:
    """The variables that rules set."""
    found: set[str] = set()
    for fields in rules:
        found |= (fields.set_variable or {}).keys()
        counted = fields.increment_variable
        if isinstance(counted, (str, dict)):
            found |= {counted} if isinstance(counted, str) else counted.keys()
    return found


def _check_names(tree: Tree, found: Iterable[Parsed]) -> None:
    lines: dict[tuple[str, str], int] = {}
    for parsed in found:
        line = tree.line_of(parsed.place)
        first = lines.setdefault((parsed.event, parsed.name), line)
        if parsed.fields.name and first != line:
            message = f"line {first} has a rule of this name"
            tree.error((*parsed.place, "name"), message)


def _compiled(reader: RuleReader, fields: RuleFields, kept: Collection[str]) -> Json:
    """The compiled rule; its problems are in the tree."""
    code: Json = reader.conditions(fields.when, fields.tools)
    if fields.on_error == "skip":
        code["on_error"] = "skip"
    if fields.required:
        code["required"] = True
        if fields.spawn_agent is None:
            message = "is about spawn_agent, which this rule does not have"
            reader.tree.warn((*reader.place, "required"), message)
    code |= reader.variables(fields.set_variable, fields.increment_variable, kept)
    for effect in ("inject_context", "block"):
        if text := getattr(fields, effect):
            code[effect] = reader.template(effect, text)
    if fields.spawn_agent is not None:
        code["spawn_agent"] = reader.spawn(fields.spawn_agent)
    return code


def _broken(parsed: Parsed, problems: Sequence[Diagnostic]) -> Json | None:
    """A rule that cannot be read, if it would block: then it does, and says why."""
    fields, spawn = parsed.fields, parsed.fields.spawn_agent
    hands_over = "spawn_agent" in parsed.written and parsed.event == "on_before_tool"
    hands_over = hands_over and not (spawn and spawn.block is False)
    can_block = "block" in parsed.written and parsed.event in CAN_BLOCK
    if not (hands_over or can_block) or fields.on_error == "skip":
        return None
    first = problems[0]
    code: Json = {"broken": f"{first.line}:{first.column}: {first.message}"}
    code["block"] = ""
    tools = fields.tools
    if isinstance(tools, list) and not any("tools" in p.place for p in problems):
        code["tools"] = tools
    return code


def unread(file: Path, layer: Layer, why: str, line: int = 1) -> RuleFile:
    """A rules file that cannot be read at all."""
    problem = Diagnostic(file, line, (), why)
    return RuleFile(file, layer, is_read=False, problems=(problem,))
