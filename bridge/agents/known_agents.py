"""The agents that a project can ask: those with a definition, and the client's own.

No other agent runs, whether a program asks for it or drops a file that names it. An
unknown name is an error, with similar names, before anything is submitted; the client
itself decides when the agent is launched. Agents of a plugin are named `plugin:name`.
Any such name is accepted, since a session's plugins may be unknown here.

Source: Claude Code subagents reference, "File locations"; measured on 2.1.330.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.agent_names import ALL_LAYERS, LAYERS, OF_PROJECT, is_name
from bridge.agents.registry import Entry, Registry
from bridge.config import Settings
from bridge.errors import (
    BadDefinition,
    BridgeError,
    InvalidRequest,
    NotTrusted,
    UnknownAgent,
)
from bridge.protocol.names import GENERAL, MODEL_NAMES
from bridge.routes import REMOTE, RouteName

if TYPE_CHECKING:
    from bridge.agents.definition import Definition, Source
    from bridge.agents.load import Loaded

BUILT_IN = frozenset(
    {GENERAL, "Explore", "Plan", "claude", "statusline-setup", "claude-code-guide"}
)

# Where there is a client, which has the prompts of these.
CLIENT_ROUTES: tuple[RouteName, ...] = ("host", "claude")

# Nobody reads a longer list.
MAX_NAMED = 40


def is_clients_own(name: str) -> bool:
    """Whether only the client has the prompt of this agent: built in, or a plugin's.

    general-purpose is not one of them: it has no prompt of its own that matters.
    """
    of_plugin = ":" in name and is_name(name.replace(":", ""))
    return name != GENERAL and (name in BUILT_IN or of_plugin)


def check_agent(name: str, registry: Registry, route: str = "host") -> None:
    """Check that a route can serve an agent without a definition.

    An open session knows its own agents, and the route claude starts a client, which
    has the built-in ones. The other routes have no prompts but those of definitions.

    Raises:
        UnknownAgent: the name is unknown, or its prompt is not available there.
        BadDefinition: the client skips the file that defines it.
    """
    # Another machine may have a client; if none has, nobody takes it.
    is_client = route in (*CLIENT_ROUTES, REMOTE)
    if name == GENERAL or (is_client and is_clients_own(name)):
        return
    if route == "host" and name in registry.client_agents():
        registry.check_client_agent(name)
        return
    here = BUILT_IN if is_client else {GENERAL}
    near = nearest(name, {*here, *registry.names()})
    if is_clients_own(name):
        whose = "a plugin's" if ":" in name else "Claude Code's own"
        raise UnknownAgent(
            f"agent {name!r} is {whose}: the route {route} does not have its "
            f"prompt; ask by --route host or claude, or another agent: {near}"
        )
    raise UnknownAgent(f"no agent is named {name!r}; {near}")


def nearest(name: str, known: Iterable[str], *, what: str = "agents") -> str:
    """Similar names; if there are none, all names."""
    # Late, as hooks import this module.
    from bridge.hints import close

    names = sorted(known)
    if found := close(name, names, most=3):
        return f"did you mean {' or '.join(found)}?"
    rest = len(names) - MAX_NAMED
    more = f" and {rest} more (hostbridge agents list)" if rest > 0 else ""
    return f"known {what} are: {', '.join(names[:MAX_NAMED])}{more}"


def check_model(name: str) -> None:
    """Check that the session's Agent tool takes a model.

    Raises:
        InvalidRequest: it does not; lists similar names.
    """
    if name in MODEL_NAMES:
        return
    # A model's full name, such as claude-opus-4-1, contains the short one.
    near = [short for short in sorted(MODEL_NAMES) if short in name.lower()]
    hint = (
        f"did you mean {' or '.join(near)}?"
        if near
        else nearest(name.lower(), MODEL_NAMES, what="models")
    )
    raise InvalidRequest(f"an open session knows no model {name!r}; {hint}")


class Agents(NamedTuple):
    """The agents of a project."""

    registry: Registry

    @classmethod
    def open(cls, settings: Settings, project: Path) -> Agents:
        """The agents of a project, by its real path.

        Raises:
            NotShipped: this installation has no built-in definitions.
        """
        return cls(Registry.open(settings, project))

    def find(self, agent: str, route: RouteName = "host") -> Definition | None:
        """The definition that a route needs; None for an agent that needs none there.

        An open session has the prompts of the client's agents. On every other route
        nothing runs without its definition.

        Raises:
            UnknownAgent: it is unknown, or this route does not have its prompt.
            BadDefinition, NotTrusted: its definition cannot be used.
        """
        layers = LAYERS if route == "host" else ALL_LAYERS
        definition = self.registry.find(agent, layers)
        if definition is None:
            check_agent(agent, self.registry, route)
            return None
        return self.with_base(definition, route)

    def wrong(self, agent: str) -> str | None:
        """What is wrong with the name of an agent that a file asks for, if anything."""
        try:
            self.find(agent)
        except NotTrusted:
            # It is there; `trust` shows both.
            return None
        except BridgeError as error:
            return str(error)
        return None

    def with_base(
        self, definition: Definition, route: RouteName, above: tuple[str, ...] = ()
    ) -> Definition:
        """The definition with what it has from the agent that it stands on.

        `above` are those that stand on this one.

        Raises:
            UnknownAgent, BadDefinition, NotTrusted: as `find`, of its base.
            BadDefinition: in the end it stands on itself.
        """
        name, above = definition.base, (*above, definition.name)
        if name is None:
            return definition
        if name in above:
            circle = " on ".join((*above, name))
            problem = f"{definition.source.file}: base: it stands on itself: {circle}"
            raise BadDefinition(definition.name, (problem,))
        layers = LAYERS if route == "host" else ALL_LAYERS
        base = self.registry.find(name, layers)
        if base is None:
            check_agent(name, self.registry, route)
        else:
            base = self.with_base(base, route, above)
        routes = CLIENT_ROUTES if base is None and is_clients_own(name) else None
        return on_base(definition, base, routes)

    def entries(self) -> list[Entry]:
        """As `Registry.entries`, each with what it has from the agent it stands on."""
        return [
            entry._replace(loaded=self.whole(entry.loaded))
            for entry in self.registry.entries()
        ]

    def whole(self, loaded: Loaded) -> Loaded:
        """A definition with what it has from its base; wrong if that cannot be used."""
        from dataclasses import replace

        definition = loaded.definition
        if definition is None or definition.base is None:
            return loaded
        try:
            return replace(loaded, definition=self.with_base(definition, "claude"))
        except NotTrusted:
            # It belongs to the project, and `hostbridge trust` shows it by itself.
            return loaded
        except BridgeError as error:
            from bridge.agents.diagnostic import Diagnostic

            place = ("base",)
            line = loaded.lines.get(place, 1)
            problem = Diagnostic(loaded.file, line, place, error.what)
            problems = (*loaded.problems, problem)
            return replace(loaded, definition=None, problems=problems)


def on_base(
    own: Definition, base: Definition | None, routes: tuple[RouteName, ...] | None
) -> Definition:
    """The definition that runs: with more words than its base, never with more rights.

    It may do what the base may do, without what its own definition takes away. `base`
    is None where only the client has it (its own agents, a plugin's, in a session those
    of `.claude/agents`), which runs it there, and may take only `routes`.
    """
    if base is None:
        carrier = None if own.base == GENERAL else own.base
        changed = {"subagent_type": carrier, "routes": routes or own.routes}
        return own.model_copy(update=changed)
    words = filter(None, (base.system_prompt, own.system_prompt))
    model = own if own.model else base
    inherited: dict[str, Any] = {
        "name": own.name,
        "description": own.description,
        "base": own.base,
        "source": _source(own.source, base.source),
        "system_prompt": "\n\n".join(words) or None,
        "model": model.model,
        "model_digest": model.model_digest,
        "tools": _both(own.tools, base.tools),
        "blocked_tools": (*base.blocked_tools, *own.blocked_tools),
        "max_turns": min(filter(None, (own.max_turns, base.max_turns)), default=None),
    }
    return base.model_copy(update=inherited)


def _both(own: tuple[str, ...] | None, base: tuple[str, ...] | None) -> Any:
    if own is None or base is None:
        return base if own is None else own
    return tuple(tool for tool in own if tool in base)


def _source(own: Source, base: Source) -> Source:
    """Where it was read; a project's definition stays one, whatever it stands on."""
    import hashlib

    digest = hashlib.sha256(f"{own.digest} {base.digest}".encode()).hexdigest()
    layer = own.layer if own.layer in OF_PROJECT else base.layer
    return own.model_copy(update={"layer": layer, "digest": digest})
