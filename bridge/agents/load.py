"""Load one definition file, or say what is wrong with it.

    reviewer.yaml   a YAML agent, or a subagent definition (it has `initial_context`)
    reviewer.md     a Markdown agent

Problems are returned, never raised: the other definitions still load.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents import agent_names
from bridge.agents.files import Reader, Unreadable, read_bytes

if TYPE_CHECKING:
    from bridge.agents.definition import Definition, OwnSteps, Spelling
    from bridge.agents.diagnostic import Diagnostic, Place
    from bridge.agents.yaml_source import Tree

# A file with steps and one of these is an agent, not a workflow in the wrong folder.
_OURS = {"prompt", "tools", "blocked_tools", "routes", "max_turns", "output_schema"}
# What other programs call an agent's `variables`.
OTHERS_NAME = "step_variables"
FIELDS = ("variables", "owners", "steps", "exit_condition", "on_premature_stop")


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result for one file; `definition` is None if a problem is an error.

    `digests` has the SHA-256 of the file and of each file that it names; `digest` is
    one over all of them. `lines` maps each value to its line in the file. `steps` are
    its own, not read yet, also if a problem is an error.
    """

    name: str
    file: Path
    layer: agent_names.Layer
    spelling: Spelling
    definition: Definition | None
    problems: tuple[Diagnostic, ...]
    digest: str
    digests: dict[Path, str]
    lines: dict[Place, int] = field(default_factory=dict)
    steps: OwnSteps | None = None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The problems that keep it from being used."""
        return tuple(p for p in self.problems if p.level == "error")


def load(
    file: Path,
    layer: agent_names.Layer,
    data: bytes | None = None,
    *,
    home: Path | None = None,
) -> Loaded:
    """Read a definition and all files that it names, once each.

    `data` is the content of the file if the caller has read it. `home` is the user's
    `~/.hostbridge`, where a model may be.
    """
    from bridge.agents.yaml_source import Tree

    is_projects = layer in agent_names.OF_PROJECT
    reader = Reader(file.parent, is_confined=is_projects, home=home)
    tree = Tree(file)
    spelling: Spelling = "markdown" if file.suffix == ".md" else "yaml"
    definition = steps = None
    try:
        if data is None:
            data = read_bytes(file, follow_links=not is_projects)
        # The client accepts any bytes in a Markdown agent.
        text = reader.note(file, data, is_strict=file.suffix != ".md")
        spelling, tree, definition, steps = _read(text, file, layer, reader)
        if definition is not None:
            _check_name(definition.name, data, tree)
            digest = reader.digests.get(Path(definition.model or ""))
            definition = definition.model_copy(update={"model_digest": digest})
    except Unreadable as exc:
        tree.error((), exc.why)
    except (ValueError, RuntimeError, OSError) as exc:
        # An unforeseen case must not break the commands that list all definitions:
        # the file may be anybody's.
        tree.error((), f"cannot be read as a definition: {exc}")
    # Its own first, then those of its scripts.
    problems = tuple(
        sorted(tree.problems, key=lambda p: (p.file != file, p.file, p.line, p.path))
    )
    if any(problem.level == "error" for problem in problems):
        definition = None
    name = tree.value.get("name") if isinstance(tree.value, dict) else None
    return Loaded(
        name=name if isinstance(name, str) and agent_names.is_name(name) else file.stem,
        file=file,
        layer=layer,
        spelling=spelling,
        definition=definition,
        problems=problems,
        digest=reader.digest,
        digests=reader.digests,
        lines=tree.lines,
        steps=steps,
    )


def _check_name(name: str, data: bytes, tree: Tree) -> None:
    if name == tree.file.stem:
        return
    if agent_names.declares(agent_names.head_of(data), name):
        message = f"callers ask for {name!r}, but the file is {tree.file.name}"
        tree.warn(("name",), message)
    else:
        late = f", within the first {agent_names.MAX_HEAD // 1024} KiB"
        where = late if agent_names.declares(data, name) else ""
        message = f"must be plain text on a line of its own{where}: name: {name}"
        tree.error(("name",), message)


def _read(
    text: str, file: Path, layer: agent_names.Layer, reader: Reader
) -> tuple[Spelling, Tree, Definition | None, OwnSteps | None]:
    if file.suffix == ".md":
        from bridge.agents.markdown_agent import read_markdown

        return "markdown", *read_markdown(text, file, layer, reader), None
    from bridge.agents.yaml_source import read_tree

    tree = read_tree(text, file)
    if not _check_kind(tree):
        return "yaml", tree, None, None
    if _is_subagent(tree.value):
        from bridge.agents.subagent_definition import read_subagent

        return "subagent", tree, read_subagent(tree, layer, reader), None
    from bridge.agents.yaml_agent import read_agent

    steps = take_steps(tree, text, layer)
    return "yaml", tree, read_agent(tree, layer, reader, steps), steps


def _is_subagent(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    tools = value.get("tools")
    has_scripts = isinstance(tools, list) and any(isinstance(t, dict) for t in tools)
    return has_scripts or "initial_context" in value


def _check_kind(tree: Tree) -> bool:
    """Whether a file may be an agent; if not, the tree says what it is."""
    value = tree.value
    if not isinstance(value, dict):
        return True
    from bridge.agents.foreign_fields import OF_AN_AGENT, other_kind

    if other := other_kind(value):
        message = f"this is {other.what}, not an agent: {other.way}"
        tree.error((other.field,), message)
        return False
    is_agent = value.keys() & (OF_AN_AGENT | _OURS)
    if isinstance(value.get("steps"), (list, dict)) and not is_agent:
        place = "~/.hostbridge/workflows or .bridge/workflows"
        message = f"this is a workflow, not an agent: it belongs in {place}"
        tree.error(("steps",), message)
        return False
    return True


def take_steps(tree: Tree, text: str, layer: agent_names.Layer) -> OwnSteps | None:
    """Take the steps, and what belongs to them, out of a tree with this text.

    None if it has no steps.
    """
    value = tree.value
    if not isinstance(value, dict) or value.get("steps") is None:
        return None
    if OTHERS_NAME in value and "variables" in value:
        tree.error((OTHERS_NAME,), "is what `variables` is: keep one of them")
    from bridge.agents.definition import OwnSteps

    fields = fields_of(value)
    for each in (*FIELDS, OTHERS_NAME):
        value.pop(each, None)
    name = value.get("name")
    agent = name if isinstance(name, str) else tree.file.stem
    return OwnSteps(agent=agent, file=tree.file, layer=layer, text=text, fields=fields)


def fields_of(value: dict[str, Any]) -> dict[str, Any]:
    """The fields of the workflow that an agent's file holds."""
    if OTHERS_NAME in value:
        value = {"variables": value[OTHERS_NAME], **value}
    return {name: value[name] for name in FIELDS if name in value}
