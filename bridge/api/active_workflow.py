"""Step workflows of conversations: begin one, see how it stands, end it.

    workflows = Bridge.open().workflows
    workflows.activate("task-expansion", {"target_task_id": "#42"})
    workflows.status()       # what is active here, and what it waits for
    workflows.end()          # by a person, in a terminal

A conversation has one at a time. It begins with the next thing that happens in its
session: there its actions can be done, and the model is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bridge.agents.known_agents import Agents
from bridge.agents.library import WORKFLOWS, Library
from bridge.agents.trust import refuse_unless_by_hand
from bridge.agents.workflow_choice import workflow_settings
from bridge.api.variables import Variables
from bridge.bound.session_above import open_clients
from bridge.errors import BridgeError, InvalidRequest
from bridge.policy.rule_set import Whose
from bridge.policy.step_workflow import step_of
from bridge.protocol.names import OF_TASK
from bridge.protocol.wording import in_shell
from bridge.store import step_states
from bridge.store.subagent_runs import find_agent
from bridge.store.variables import Holder, values_of, variables_of
from bridge.workflows import progress
from bridge.workflows.conversation import Conversation
from bridge.workflows.first_values import named
from bridge.workflows.reader import find_workflow

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.policy.step_record import CompiledWorkflow, StepRecord
    from bridge.store.store import Store
    from bridge.workflows.progress import WorkflowProgress

    Json = dict[str, Any]

_COMMAND = "hostbridge workflow end"


@dataclass(frozen=True, slots=True)
class ActiveWorkflow:
    """A workflow that is active in a conversation.

    Attributes:
        holder: whose: a session's, or an agent's.
        record: how it stands; None if that cannot be read, `problem` says why then.
        variables: its variables with their values.
        is_changed: whether its file is not as it was when it began.
    """

    holder: Holder
    record: StepRecord | None
    problem: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    is_changed: bool = False

    @property
    def of(self) -> str:
        """Whose it is, such as `session 018f5e6d`."""
        return f"{self.holder.folder.removesuffix('s')} {self.holder.owner_id}"


class Workflows:
    """The step workflows of a project's conversations."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings

    def activate(
        self,
        workflow: str | Path,
        params: Mapping[str, Any] = MappingProxyType({}),
        *,
        session: str | None = None,
    ) -> WorkflowProgress:
        """Begin a workflow in the agent or session this runs in, or in `session`.

        Args:
            workflow: its name or its file.
            params: first values of variables that it declares.
            session: which, if several are open.

        Raises:
            WorkflowActive: one is active there.
            InvalidWorkflow: its file has errors.
            InvalidRequest: there is no such workflow, variable or session.
            NotTrusted: the project brings it, and its user has not agreed to that.
            NotYours: a model gives a variable that is not a model's to set.
        """
        project = self.store.place.project
        check_agent = Agents.open(self.settings, project).wrong
        code = find_workflow(self.settings, project, workflow, check_agent).compiled()
        params = named(
            code, params
        )  # what is given wrong is said before who is missing
        variables = Variables.open(
            self.store,
            self.settings,
            session,
            "person",
            f"no session is open here that {code['name']} could lead; start claude in "
            "this project, or have an agent go through it: "
            f"{in_shell('hostbridge', 'run', workflow)}{_about_a_task(code)}",
        )
        by = "model" if variables.owner == "model" else "person"
        there = self._conversation(variables)
        return progress.begin(self.store, there, code, params, by=by, is_here=False)

    def status(self) -> list[ActiveWorkflow]:
        """What is active in this project, the session's before its agents'."""
        if not self.store.exists():
            return []
        with self.store.state() as state:
            holders = step_states.holders(state)
        return [each for each in map(self._look, holders) if each is not None]

    def earlier(self, holder: Holder) -> list[Json]:
        """What has ended in a conversation, the last one at the end."""
        if not self.store.exists():
            return []
        with self.store.folder(holder.folder) as folder:
            return step_states.earlier(folder, holder)

    def end(
        self, *, session: str | None = None, agent: str | None = None
    ) -> WorkflowProgress | None:
        """End a workflow before its time; only a person may.

        None if its record could not be read: it was put aside.

        Raises:
            InsideSession: this runs inside a session, whose model could be behind it.
            InvalidRequest: nothing is active there, or several are and none is named.
            NewerSchema: a newer hostbridge wrote its record, which stays.
        """
        clients = open_clients(self.settings, self.store)
        refuse_unless_by_hand(self.settings, clients, _COMMAND)
        found = self._named(session, agent)
        there = Conversation(found.holder, "", lambda: Whose({}))
        try:
            ended = progress.end(self.store, there, "a person has ended it")
        except step_states.BrokenState:
            return None
        if ended is None:
            raise InvalidRequest(_nothing(session, agent))
        return ended

    def _named(self, session: str | None, agent: str | None) -> ActiveWorkflow:
        start = agent or session or ""
        named = (("agents", agent), ("sessions", session))
        folders = {folder for folder, given in named if given} or dict(named).keys()
        found = [
            each
            for each in self.status()
            if each.holder.folder in folders and each.holder.owner_id.startswith(start)
        ]
        if not found:
            raise InvalidRequest(_nothing(session, agent))
        if len(found) > 1:
            ways = (f"--{each.of}" for each in found)
            raise InvalidRequest(
                f"several workflows are active here, name one: {', '.join(ways)}"
            )
        return found[0]

    def _conversation(self, variables: Variables) -> Conversation:
        holder, session = variables.holder, variables.holder.owner_id
        given: Mapping[str, Any] = {}
        if holder.folder == "agents":
            run = find_agent(self.store, holder.owner_id)
            session = run.session if run else ""
            given = run.variables if run else {}
        return Conversation(
            holder,
            session,
            lambda: Whose(variables.all()),
            kept=variables.kept,
            given=given,
            settings=workflow_settings(self.settings),
        )

    def _look(self, holder: Holder) -> ActiveWorkflow | None:
        try:
            record = step_states.find(self.store, holder)
        except BridgeError as error:
            return ActiveWorkflow(holder, None, problem=str(error))
        if record is None or step_of(record) is None:
            return None
        code = record["code"]
        known = self._values(holder)
        names = [*code["variables"], *code["made"]]
        values = {name: known.get(name) for name in names}
        return ActiveWorkflow(holder, record, "", values, self._is_changed(code))

    def _values(self, holder: Holder) -> Mapping[str, Any]:
        is_agents = holder.folder == "agents"
        run = find_agent(self.store, holder.owner_id) if is_agents else None
        if run is not None:
            return variables_of(self.store, run)
        return values_of(self.store, holder)

    def _is_changed(self, code: CompiledWorkflow) -> bool:
        files = Library(WORKFLOWS, self.settings, self.store.place.project)
        file = Path(code["file"]).expanduser()
        return bool(files.changed(str(file), code["digest"], {}))


def _about_a_task(code: CompiledWorkflow) -> str:
    return " --param task=42" if code["variables"].keys() & set(OF_TASK) else ""


def _nothing(session: str | None, agent: str | None) -> str:
    where = f"in {agent or session}" if agent or session else "here"
    return f"no workflow is active {where}; see: hostbridge workflow status"
