"""Temporary agents: a Markdown agent in the folder of its run, and gone with it.

    runs/<run>/agents/NAME.md

They are written when the run begins, with its parameters filled in, and read like any
other definition whenever one is asked or launched. plan.json has their digests: one
that was changed, replaced or removed is named and not run, and another file beside them
is nobody's agent. A request names its agent as `$NAME`; whose that is, its id says.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.agent_names import SUFFIXES
from bridge.agents.frontmatter import joined
from bridge.agents.load import load
from bridge.engine.run_files import checked, digest_of, folder_of, read, read_plan
from bridge.errors import BadDefinition, BridgeError, UnknownAgent
from bridge.flow.filling import as_text, has_variables
from bridge.policy.condition import evaluate
from bridge.protocol.names import TEMPORARY, USUAL_MODEL
from bridge.store.live_runs import RUNS

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.agents.known_agents import Agents
    from bridge.agents.load import Loaded
    from bridge.engine.run import Digests, Linked, Run
    from bridge.flow.details import TemporaryAgent
    from bridge.protocol.request import Request
    from bridge.store.directory import Folder
    from bridge.store.store import Store

FOLDER = "agents"
_MARKDOWN = SUFFIXES[-1]


def write_agents(
    folder: Folder, run: Run, agents: dict[str, TemporaryAgent]
) -> Digests:
    """Write the agents of a run into its folder; their digests."""
    found: Digests = {}
    with folder.folder(FOLDER) as here:
        for name, agent in agents.items():
            data = _text(name, agent, run).encode("utf-8", "replace")
            here.replace(name + _MARKDOWN, data, durable=False)
            found[name] = digest_of(data)
        here.sync()
    return found


def _text(name: str, agent: TemporaryAgent, run: Run) -> str:
    """The whole file; a prompt with variables comes with each call instead."""
    fields = {
        "name": name,
        "description": f"A temporary agent of {flow_of(run)}, run {run['run']}",
        "base": agent["base"],
        "model": agent["model"] or USUAL_MODEL,
    }
    prompt = "" if has_variables(agent) else agent["prompt"]
    return joined(fields, as_text(evaluate(prompt, {"inputs": run["params"]})))


def flow_of(run: Run) -> str:
    """The flow of a run, in words."""
    return f"the flow {run['name']}" if run["name"] else "a flow"


def _load(folder: Folder, plan: Linked, home: Path, name: str) -> tuple[Loaded, bytes]:
    digest = plan.get("agents", {}).get(name)
    if digest is None:
        raise UnknownAgent(f"no agent is named '{TEMPORARY}{name}' in {folder.path}")
    data = checked(folder, f"{FOLDER}/{name}{_MARKDOWN}", digest)
    file = Path(folder.path, FOLDER, name + _MARKDOWN)
    return load(file, "user", data, home=home), data


def temporary_agent(folder: Folder, plan: Linked, home: Path, name: str) -> Definition:
    """The definition of an agent, without what it has from its base.

    Raises:
        UnknownAgent: the run has none of this name.
        BadRun: it is not as it was written.
        BadDefinition: it has errors.
    """
    return _sound(_load(folder, plan, home, name)[0], name)


def _sound(loaded: Loaded, name: str) -> Definition:
    if loaded.definition is None:
        raise BadDefinition(TEMPORARY + name, loaded.errors)
    # Not to be taken for its base, which may have the same name.
    return loaded.definition.model_copy(update={"name": TEMPORARY + name})


def find_temporary(store: Store, home: Path, request: Request) -> Definition:
    """The agent of a request that a run has made; raises as `temporary_agent`."""
    run_id, name = request.request_id.partition("-")[0], request.agent_type[1:]
    _, loaded, _ = load_agent(store, home, run_id, name)
    return _sound(loaded, name)


def runs_with_agents(store: Store) -> list[tuple[Run, list[str]]]:
    """The runs that have temporary agents, the newest first, and their names."""
    found = []
    if store.exists():
        with store.state() as state:
            for entry in state[RUNS].entries():
                with suppress(BridgeError), folder_of(state, entry.name) as folder:
                    run = read(folder, entry.name, state.key())
                    if names := read_plan(folder, run).get("agents"):
                        found.append((run, [*names]))
    return sorted(found, key=lambda each: each[0]["createdAt"], reverse=True)


def load_agent(
    store: Store, home: Path, run_id: str, name: str
) -> tuple[Run, Loaded, bytes]:
    """The agent of a run, loaded, and its file; raises as `temporary_agent`."""
    with store.state() as state, folder_of(state, run_id) as folder:
        run = read(folder, run_id, state.key())
        return run, *_load(folder, read_plan(folder, run), home, name)


def define(
    store: Store, agents: Agents, request: Request
) -> tuple[Request, Definition | None]:
    """The request with its agent's definition applied, and the definition.

    Raises:
        UnknownAgent, BadDefinition, NotTrusted: as `Agents.find`.
        BadRun, UnknownRun: as `find_temporary`.
        InvalidRequest: as `resolve`.
    """
    from bridge.agents.apply import resolve

    definition: Definition | None
    if request.is_temporary:
        own = find_temporary(store, agents.registry.home, request)
        definition = agents.with_base(own, request.served_on)
    else:
        definition = agents.find(request.agent_type, request.served_on)
    return resolve(definition, store, request), definition
