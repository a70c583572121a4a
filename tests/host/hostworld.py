"""A stage with hostbridge on it: the real client, our hooks, a scripted model.

    with host_world(tmp_path, obedient_model()) as world:
        request = world.submit("Say hello.")
        with world.stream():
            response = world.ended(request)

The events that `record` names are written down as the client sends them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import forkserver
import needs
from polling import wait_until

import bridge
from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.host.hook_table import Kind, entries, form_of
from bridge.protocol.ids import RequestId, check_id
from bridge.protocol.response import Response
from bridge.shipped import agents_folder
from bridge.store import sessions, subagent_runs
from bridge.store.sessions import Session
from bridge.testing.stage.api import Script, ScriptedApi
from bridge.testing.stage.client import Stage
from bridge.testing.stage.models import Answers, answering, launching, obedient_model
from bridge.testing.stage.oneshot import PrintResult, run_print
from bridge.testing.stage.replies import Answer, Reply, reply, tool_use
from bridge.testing.stage.stream import StreamSession
from bridge.testing.stage.terminal import TerminalSession
from bridge.testing.stage.turns import ApiRequest

HOOKS = Path(bridge.__file__).parents[1] / "hooks"
# The client tries for three minutes otherwise.
QUICK = {"CLAUDE_CODE_MAX_RETRIES": "1"}
RECORDER = (
    'event=$(cat); printf "%s\\n" "$event" >>"$CLAUDE_PROJECT_DIR/../events.jsonl"'
)


class HostWorld:
    """One project with hostbridge installed, and whoever asks there."""

    def __init__(
        self, stage: Stage, *, kinds: Sequence[Kind] = ("local",), record: Sequence[str]
    ) -> None:
        self.stage = stage
        self.api = stage.api
        self._hooks: dict[str, list[dict[str, Any]]] = {}
        self._allowed: tuple[str, ...] = ()
        self._rules: dict[str, list[str]] = {}
        self._env: dict[str, str] = {}
        for kind in kinds:
            self.install(kind)
        for event in record:
            self.add_command(event, RECORDER)
        settings = Settings(
            home=stage.home / ".hostbridge",
            claude_dir=stage.home / ".claude",
            claude_record=stage.home / ".claude.json",
            requester="a test",
        )
        self.bridge = Bridge(settings, stage.project)
        self.store = self.bridge.store

    # What is installed

    def install(self, kind: Kind) -> None:
        """Register our hooks."""
        self.add_hooks(entries(form_of(kind, HOOKS, forkserver.hook_python())))

    def add_hooks(self, hooks: Mapping[str, list[dict[str, Any]]]) -> None:
        """Register more hooks, beside those that are there."""
        for event, registered in hooks.items():
            self._hooks.setdefault(event, []).extend(registered)
        self._write_settings()

    def allow(self, *rules: str) -> None:
        """Grant tools without asking."""
        self._allowed = rules
        self._write_settings()

    def rule(self, behavior: str, *rules: str) -> None:
        """Have the user deny tools, or be asked about them."""
        self._rules[behavior] = list(rules)
        self._write_settings()

    def set_env(self, **env: str) -> None:
        """Set variables for what the client starts; it sees them a second later."""
        self._env = env
        self._write_settings()

    def _write_settings(self) -> None:
        permissions = {"allow": list(self._allowed), **self._rules}
        hooks = {"hooks": self._hooks, "permissions": permissions, "env": self._env}
        self.stage.settings(hooks)

    def add_command(self, event: str, command: str, matcher: str = "*") -> None:
        """Register somebody else's hook."""
        hook = {"type": "command", "command": command}
        self.add_hooks({event: [{"matcher": matcher, "hooks": [hook]}]})

    def add_agent(self, name: str, frontmatter: str = "") -> None:
        """Define an agent of the project."""
        folder = self.stage.project / ".claude" / "agents"
        folder.mkdir(parents=True, exist_ok=True)
        head = f"---\nname: {name}\ndescription: one of the stage\n{frontmatter}---\n"
        (folder / f"{name}.md").write_text(f"{head}Do what you are told.\n")

    def add_skill(self, text: str, head: str = "") -> None:
        """Have the project bring a skill."""
        file = self.stage.project / ".claude" / "skills" / "helper" / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nname: helper\ndescription: helps\n{head}---\n{text}\n")

    def made(self) -> set[str]:
        """The files in the project that tools have made."""
        names = (file.name for file in self.stage.project.iterdir())
        return {name for name in names if "." not in name}

    def define(self, name: str, text: str, folder: Path | None = None) -> None:
        """Define an agent of ours, for the user where no folder is named."""
        file = (folder or self.bridge.settings.home) / "agents" / f"{name}.yaml"
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.parent.parent.chmod(0o700)
        file.write_text(f"name: {name}\n{text}")

    def add_reader(self) -> None:
        """Have the client know our own agent for those that only read."""
        file = self.stage.home / ".claude" / "agents" / "hostbridge-reader.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((agents_folder() / file.name).read_bytes())

    @property
    def events(self) -> list[dict[str, Any]]:
        """The recorded events, oldest first."""
        file = self.stage.root / "events.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]

    # Who asks

    def submit(self, prompt: str = "Say hello.", **fields: Any) -> RequestId:
        """Ask without waiting."""
        return self.bridge.submit(prompt, **fields)

    def drop(self, **fields: Any) -> RequestId:
        """Ask by writing a file, as a program in any language may."""
        with self.store.state() as state, state["requests"] as folder:
            name = f"by-hand-{len(folder.names())}"
            record = {"requestId": name, "agentType": "general-purpose", **fields}
            folder.replace(f"{name}.json", json.dumps(record).encode())
        return check_id(name)

    def responses(self) -> list[Response]:
        """Every response there is."""
        with self.store.state() as state, state["responses"] as folder:
            names = sorted(folder.names())
        found = (self.store.find(check_id(name)) for name in names)
        return [each.response for each in found if each and each.response]

    def ended(self, request: RequestId, *, timeout_s: float = 300) -> Response:
        """The response, when it is there."""
        response = next(iter(self.store.wait([request], timeout_s=timeout_s)), None)
        assert response is not None, f"no end within {timeout_s} s:\n{self.story()}"
        return response

    def stage_of(self, request: RequestId) -> str:
        """How far a request has come: its stage, or its status once it has ended."""
        found = self.bridge.status(request)
        if found.response is not None or found.request is None:
            return str(found.status)
        return str(found.request.stage)

    def wait_for_stage(self, request: RequestId, stage: str) -> None:
        """Wait until a request has come so far."""
        wait_until(lambda: self.stage_of(request) == stage, what=f"stage {stage}")

    def story(self) -> str:
        """What happened, for the message of a failed test."""
        files = (
            self.store.place.state / "events.jsonl",
            self.stage.home / ".hostbridge" / "hook-errors.log",
        )
        return "\n".join(f.read_text()[-6000:] for f in files if f.exists())

    def complaints(self) -> str:
        """What hooks logged as going wrong."""
        file = self.stage.home / ".hostbridge" / "hook-errors.log"
        return file.read_text() if file.exists() else ""

    # Who answers

    def print(
        self, prompt: str = "hello", *, mode: str = "default", **options: Any
    ) -> PrintResult:
        """One shot: `claude -p`."""
        return run_print(
            self.stage, prompt, args=["--permission-mode", mode], **options
        )

    @contextmanager
    def stream(
        self, *, mode: str = "default", args: Sequence[str] = (), greet: bool = True
    ) -> Iterator[StreamSession]:
        """A session that stays open; by default it has had its first prompt."""
        flags = ["--permission-mode", mode, *args]
        with StreamSession(self.stage, args=flags) as session:
            if greet:
                session.ask("hello", timeout_s=300)
            yield session

    @contextmanager
    def terminal(self, *, mode: str = "default") -> Iterator[TerminalSession]:
        """A session at a terminal that has had its first prompt."""
        needs.tool("tmux")
        with TerminalSession(self.stage, mode=mode) as terminal:
            terminal.submit("hello")
            self.wait_for_turns(1)
            yield terminal

    @contextmanager
    def told(
        self,
        how: str,
        prompt: str = "go",
        *,
        mode: str = "default",
        turns: int = 4,
        words: str = "",
    ) -> Iterator[PrintResult | StreamSession | TerminalSession]:
        """A session of some kind, at the end of its turn about a prompt.

        At a terminal nobody tells that end: it is there once the model was shown these
        words, or had so many turns in all, the greeting with them.
        """
        if how == "one-shot":
            printed = self.print(prompt, mode=mode)
            assert printed.exit_code == 0, printed
            yield printed
        elif how == "stream":
            with self.stream(mode=mode, greet=False) as session:
                session.ask(prompt, timeout_s=300)
                yield session
        else:
            with self.terminal(mode=mode) as terminal:
                terminal.submit(prompt)
                if words:
                    wait_until(lambda: words in self.main_words(), what=words)
                else:
                    self.wait_for_turns(turns)
                yield terminal

    def tell(self, how: str, prompt: str = "go", **options: Any) -> None:
        """Have a session told something, until nothing of its agents is left."""
        with self.told(how, prompt, **options):
            self.wait_until_forgotten()

    def opened(
        self, how: str
    ) -> AbstractContextManager[StreamSession | TerminalSession]:
        """A session at a terminal, or a stream in the permission mode that is named."""
        return self.terminal() if how == "terminal" else self.stream(mode=how)

    def serve(
        self,
        how: str,
        prompt: str = "Say hello.",
        *,
        mode: str = "default",
        **fields: Any,
    ) -> Response:
        """Ask, have a session answer, and return how it ended; as `serve_all`."""
        (response,) = self.serve_all(how, {prompt: {}}, mode=mode, **fields)
        return response

    def serve_all(
        self,
        how: str,
        questions: Mapping[str, Mapping[str, Any]],
        *,
        mode: str = "default",
        **fields: Any,
    ) -> list[Response]:
        """Ask several questions, and have one session answer them side by side.

        `questions` has the fields of each beside its prompt, `fields` those of all.
        `how` is one-shot, where agents run in the foreground, or where they run in the
        background: stream or terminal. Afterwards nothing of the agents is left, on
        disk or with the host.
        """
        asked = [
            self.submit(prompt, **own, **fields) for prompt, own in questions.items()
        ]
        if how == "one-shot":
            printed = self.print(mode=mode)
            assert printed.exit_code == 0, printed
            return [self.ended(request, timeout_s=0) for request in asked]
        opened = self.terminal if how == "terminal" else self.stream
        with opened(mode=mode):
            responses = [self.ended(request) for request in asked]
            self.wait_until_forgotten()
        # A wake-up names no task. It comes if the first prompt was late with its offer.
        assert "<task-id>" not in self.main_words()
        return responses

    def wait_until_forgotten(self) -> None:
        """Wait until no agent is on record.

        Agents that agents have started are remembered for a while after their end.
        """

        def nothing() -> bool:
            known = subagent_runs.all_runs(self.store)
            return all(run.parent and run.state == "ended" for run in known)

        wait_until(nothing, what="forgetting the agents")

    def live(self) -> list[Session]:
        """The sessions that are open."""
        return sessions.live_sessions(self.store)

    def wait_for_turns(self, count: int) -> list[ApiRequest]:
        """Wait until the main thread's model has had so many turns."""
        return wait_until(
            lambda: t if len(t := self.api.turns("main")) >= count else None,
            what=f"turn {count} of the main thread",
        )

    def wait_for_run(self, request: RequestId) -> subagent_runs.AgentRun:
        """Wait until a subagent is known to work on a request."""

        def bound() -> subagent_runs.AgentRun | None:
            runs = subagent_runs.all_runs(self.store)
            mine = (r for r in runs if r.request_id == request and r.agent_id)
            return next(mine, None)

        return wait_until(bound, what="a bound subagent")

    def run(self, agent_id: str) -> subagent_runs.AgentRun:
        """The run of a subagent."""
        run = subagent_runs.find_agent(self.store, agent_id)
        assert run is not None
        return run

    def main_words(self) -> str:
        """Everything that the model of the main thread was ever shown."""
        return json.dumps([turn.body["messages"] for turn in self.api.turns("main")])

    def subagent_words(self) -> str:
        """Everything that the models of subagents were ever shown."""
        turns = self.api.turns("subagent")
        return json.dumps([turn.body["messages"] for turn in turns])


def bash(command: str, **fields: object) -> Reply:
    """A model's reply that runs a command."""
    return reply(tool_use("Bash", {"command": command, "description": "d", **fields}))


# What a permission dialog of the client looks like.
DIALOG = ("Do you want", "Esc to cancel", "1. Yes")


def stopping(request: ApiRequest) -> Answer:
    """A main thread that obeys, and stops the task in a prompt `stop ID`."""
    words = request.last_user_text.split()
    if words[:1] == ["stop"] and not request.tool_results:
        return reply(tool_use("TaskStop", {"task_id": words[1]}))
    return launching()(request)


def bash_until_go() -> Reply:
    """A model's reply: a command in the background that waits for a file `go`."""
    return bash("while [ ! -e go ]; do sleep 0.05; done", run_in_background=True)


def named(name: str) -> str:
    """A prompt by which `by_name` knows an agent again."""
    return f"This is [{name}]."


def prompts(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Questions for `serve_all` that differ in nothing else."""
    return {named(name): {} for name in names}


def by_name(turns: Mapping[str, Sequence[Answer]]) -> Answers:
    """What each of several subagents says, turn by turn; the last turn is repeated."""

    def answers(prompt: str, request: ApiRequest) -> Answer:
        name = next(name for name in turns if named(name) in prompt)
        return answering(*turns[name])(prompt, request)

    return answers


def code_of(response: Response) -> str | None:
    """The code of a failure; None for success."""
    return response.error.code if response.error else None


@contextmanager
def host_world(
    root: Path,
    script: Script | None = None,
    *,
    env: Mapping[str, str] | None = None,
    kinds: Sequence[Kind] = ("local",),
    record: Sequence[str] = (),
) -> Iterator[HostWorld]:
    """Set the stage; what hooks complained of fails the test."""
    with ScriptedApi(script or obedient_model()) as api:
        stage = Stage(
            root, api, program=needs.client(), extra_env={**QUICK, **(env or {})}
        )
        world = HostWorld(stage, kinds=kinds, record=record)
        yield world
        complaints = world.complaints()
        assert not complaints, complaints
