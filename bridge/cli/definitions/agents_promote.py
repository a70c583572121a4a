"""`hostbridge agents promote NAME`: a temporary agent of a flow becomes one that stays.

Whatever is in the user's own folders works at once: a model must not put it there. What
is in a project waits for trust.
"""

from __future__ import annotations

import os
import stat
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.agents.agent_names import ALL_LAYERS, Layer
from bridge.agents.files import MAX_BYTES, read_bytes
from bridge.agents.frontmatter import joined, read_fields, split
from bridge.agents.layers import LayerFolder
from bridge.agents.load import load
from bridge.agents.markdown_agent import USED
from bridge.agents.registry import Registry
from bridge.bound.session_above import only_by_hand
from bridge.cli.definitions.agents_new import create_file, create_in
from bridge.engine.temporary import flow_of, load_agent, runs_with_agents
from bridge.errors import BadDefinition, InvalidRequest, NotTrusted
from bridge.protocol.names import CARRIER, GENERAL, TEMPORARY
from bridge.store.directory import Folder

if TYPE_CHECKING:
    from bridge.api.bridge import Bridge

LAYERS: dict[str, Layer] = {
    "user": "user",
    "project": "project",
    "claude": "claude-user",
}
CONFLICTS = ("rename", "overwrite", "skip")
Conflict = Literal["rename", "overwrite", "skip"] | None
# The fields of an agent, and its prompt.
Parts = tuple[dict[str, Any], str]


class Promoted(NamedTuple):
    """What became of it; `runs` is how many runs have an agent of this name."""

    name: str
    file: Path
    run: str
    runs: int
    is_written: bool


def promote(
    name: str,
    bridge: Bridge,
    registry: Registry,
    *,
    run: str | None,
    to: str,
    on_conflict: Conflict,
) -> Promoted:
    """Write the agent of a run, by default of the newest that has it, into a folder.

    Raises:
        InvalidRequest: no run has it, its name is taken, or it can be no agent there.
        InsideSession: it is for a folder of the user's, and a model could have asked.
        BadRun: its file is not as it was written.
        BadDefinition: it would have errors there.
    """
    name = name.removeprefix(TEMPORARY)
    if to != "project":
        command = f"hostbridge agents promote {name}"
        only_by_hand(bridge.settings, bridge.store, command)
    having = runs_with_agents(bridge.store)
    runs = [each["run"] for each, names in having if name in names]
    if not (run or runs):
        raise InvalidRequest(
            f"no run has a temporary agent {name!r}; see what runs there are with: "
            "hostbridge runs"
        )
    seen, _, data = load_agent(bridge.store, registry.home, run or runs[0], name)
    fields, words = _parts(data)
    if not words:
        raise InvalidRequest(
            f"{name!r} has no prompt of its own: it is empty, or has variables, which "
            "only its flow knows"
        )
    if to == "claude":
        fields, words = _for_the_client(fields, words, registry)
    folder = LayerFolder(LAYERS[to], registry.folders[LAYERS[to]])
    taken = _taken(name, folder)
    if taken is not None and on_conflict == "skip":
        return Promoted(name, taken, seen["run"], len(runs), is_written=False)
    new = _free_name(name, folder, fields.get("base"), on_conflict)
    fields |= {"name": new, "description": f"From {flow_of(seen)}"}
    file = folder.folder / f"{new}.md"
    over = on_conflict == "overwrite"
    _write(file, joined(fields, words), registry, folder.layer, over=over)
    return Promoted(new, file, seen["run"], len(runs), is_written=True)


def _parts(data: bytes) -> Parts:
    """The fields of a Markdown agent that was loaded, and its prompt."""
    fields, words = split(data.decode("utf-8", "replace")) or ("", "")
    return read_fields(fields, Path()).value, words


def _for_the_client(fields: dict[str, Any], words: str, registry: Registry) -> Parts:
    """The agent with what it has from its base: in the client it stands on none.

    Raises:
        InvalidRequest: the client cannot have what the base says or may do.
        BadDefinition, NotTrusted: the base cannot be used.
    """
    base = fields.pop("base")
    found = registry.find(base, ALL_LAYERS)
    if found is None and base == GENERAL:
        return fields, words
    if found is None or found.source.spelling != "markdown" or found.base:
        raise InvalidRequest(
            f"{fields['name']!r} stands on {base!r}, whose words and limits a file of "
            "Claude Code's cannot have; promote it with --to user or --to project"
        )
    file, layer = found.source.file, found.source.layer
    data = read_bytes(file)
    loaded = load(file, layer, data, home=registry.home)
    if not registry.is_trusted(loaded):
        raise NotTrusted(base, file, is_changed=True)
    theirs, their_words = _parts(data)
    if not found.source.is_clients:
        # What only the client uses had no effect in it.
        theirs = {field: theirs[field] for field in theirs if field in USED}
    return theirs | fields, "\n\n".join(filter(None, (their_words, words)))


def _taken(name: str, folder: LayerFolder) -> Path | None:
    """The file that has this name already."""
    file = folder.folder / f"{name}.md"
    return file if os.path.lexists(file) else next(folder.candidates(name), None)


def _free_name(
    name: str, folder: LayerFolder, base: str | None, on_conflict: Conflict
) -> str:
    """The name that it gets."""
    if on_conflict == "rename":
        names = (name if n == 1 else f"{name}-{n}" for n in count(1))
        free = (each for each in names if each not in (base, CARRIER))
        return next(each for each in free if not _taken(each, folder))
    if name in (base, CARRIER):
        whose = "its base" if name == base else "the agent of hostbridge itself"
        raise InvalidRequest(f"{whose} has the name {name!r}; use --on-conflict rename")
    taken = _taken(name, folder)
    if taken is None:
        return name
    if on_conflict is None:
        raise InvalidRequest(
            f"{taken} has the name {name!r}, and stays as it is; choose: --on-conflict "
            "rename, overwrite or skip"
        )
    is_plain = stat.S_ISREG(os.lstat(taken).st_mode)
    if taken != folder.folder / f"{name}.md" or not is_plain:
        raise InvalidRequest(
            f"{taken} has the name {name!r}, and is no file that can be overwritten by "
            f"{name}.md; move it away, or use --on-conflict rename or skip"
        )
    return name


def _write(
    file: Path, text: str, registry: Registry, layer: Layer, *, over: bool
) -> None:
    """Write an agent that has no errors where it is to be."""
    data = text.encode()
    if len(data) > MAX_BYTES:
        problem = f"{file}: larger than {MAX_BYTES // 1024} KiB"
        raise BadDefinition(file.stem, (problem,))
    loaded = load(file, layer, data, home=registry.home)
    if loaded.errors:
        raise BadDefinition(file.stem, loaded.errors)
    try:
        if layer != "claude-user":
            project = registry.project if layer == "project" else None
            create_in(project, registry.home, ("agents", file.name), text, over=over)
            return
        # The client's own folders may be links of the user's.
        for each in (file.parent.parent, file.parent):
            each.mkdir(mode=0o755, parents=True, exist_ok=True)
        folder = Folder.open(os.path.realpath(file.parent))
        create_file(folder, (file.name,), text, over=over)
    except FileExistsError:
        raise InvalidRequest(f"{file} has just been made; try again") from None
