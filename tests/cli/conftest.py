"""A project with a home of its own, the command as a process, and a small host.

The host is this test process: it stands on record as an open session, claims what waits
and publishes what `words` says, through the library alone. No client, no hooks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aheadclock import module_ahead
from coordinatorworld import make_epic
from fakeclaude import fake_claude, repeating_claude, trust_folder
from forkserver import Forked, is_forkable
from hubserver import Hub
from leftprocesses import NAME as MARK
from polling import wait_until
from scripted_server import ScriptedServer
from sessionworld import started_as_a_client

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.protocol.failure_codes import explain
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import judge
from bridge.protocol.record import parse
from bridge.protocol.request import Request
from bridge.protocol.response import Response, answered, failed
from bridge.store import Claimant, sessions, wakeups
from bridge.store.host_process import identify
from bridge.store.sessions import Session

SUCCESS = '{"status": "success", "summary": "three modules lack tests"}'


class Project:
    """One project, and its command line."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "project"
        (self.folder / ".git").mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "LANG": "C.UTF-8",
            "BRIDGE_REQUESTER": "a test",
            "TMPDIR": str(root),
            "COLUMNS": "200",
        }
        self.bridge = Bridge(Settings.from_environment(self.env), self.folder)
        self.state = self.bridge.store.place.state

    def start(
        self, *words: str, ahead: Path | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start the command; `ahead` puts its clock forward (`module_ahead`)."""
        python = [sys.executable, "-m", "bridge"]
        command = [*(module_ahead("bridge", ahead) if ahead else python), *words]
        env = self.env | options.pop("env", {})
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        options = {"cwd": self.folder, "env": env} | streams | options
        # What a fork has for its environment, nobody else sees.
        if is_forkable(env) and MARK not in env and "preexec_fn" not in options:
            return Forked(command[1:], **options)
        return subprocess.Popen(command, **options)

    def run(self, *words: str, stdin: bytes = b"", **options: Any) -> Ran:
        """Run the command to its end; the streams that are not given are pipes."""
        with self.start(*words, **options) as process:
            out, err = process.communicate(stdin, timeout=300)
        return Ran(process.returncode, (out or b"").decode(), (err or b"").decode())

    def program(self, *command: str, **options: Any) -> Ran:
        """Run any program in the project, to its end."""
        usual = {"cwd": self.folder, "env": self.env, "capture_output": True}
        done = subprocess.run(command, text=True, check=False, **usual | options)
        return Ran(done.returncode, done.stdout, done.stderr)

    def submit(self, prompt: str = "Which modules lack tests?", **fields: Any) -> str:
        """Ask through the library."""
        return self.bridge.submit(prompt, **fields)

    def drop(self, name: str, **fields: Any) -> Path:
        """Ask as any program can: with a file."""
        with self.bridge.store.state() as state, state["requests"]:
            pass
        file = self.state / "requests" / f"{name}.json"
        file.write_text(json.dumps({"requestId": name, "prompt": "Which?", **fields}))
        return file

    def write(self, path: str, text: str, *, own: bool = False) -> Path:
        """Write a file of the project, or the user's own, in `~/.hostbridge`."""
        file = (self.bridge.settings.home if own else self.folder) / path
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def flow(self, text: str, name: str = "a.flow") -> str:
        """Write a flow; its name."""
        return self.write(name, text).name

    def ids(self) -> list[str]:
        """The ids of all requests that have ended."""
        return [file.stem for file in (self.state / "responses").iterdir()]

    def response(self, request_id: str) -> Response | None:
        """The response that is on disk."""
        return self.bridge.status(request_id).response


class Ran(NamedTuple):
    """Exit code, stdout and stderr: compared whole, read by name."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        assert self.out.count("\n") == 1, self
        return json.loads(self.out)

    def prints(self, code: int, text: str) -> None:
        """Check that it exited with this code and printed this text, nothing else."""
        assert self == (code, text, "")

    def fails(self, code: int, message: str) -> None:
        """Check that it exited with this code and printed this error, nothing else."""
        assert self == (code, "", f"hostbridge: {message}\n")

    def refuses(self, code: int, *words: str) -> None:
        """Check that it exited with this code, and an error that has these words."""
        assert (self.code, self.out) == (code, ""), self
        assert [each for each in words if each not in self.err] == [], self.err

    def tells(self, code: int, *words: str) -> None:
        """Check that it exited with this code, and that its result has these words."""
        assert self.code == code, self
        assert [each for each in words if each not in self.out] == [], self.out


class Host:
    """An open session that is this process."""

    def __init__(self, project: Project, session_id: str = "session-1") -> None:
        process = identify(os.getpid())
        assert process is not None
        self.store = project.bridge.store
        self.claimant = Claimant(session_id, process)
        self.session_id = session_id
        session = Session(
            session_id=session_id,
            host=process,
            cwd=str(project.folder),
            registered_at=self.store.now_ms(),
            wakes=True,
        )
        with self.store.state() as state, state["sessions"]:
            pass
        self._file = project.state / "sessions" / f"{session_id}.json"
        self._file.write_bytes(session.to_json())

    def change(self, **fields: Any) -> None:
        """Change the record of the session."""
        session = parse(Session, self._file.read_bytes())
        self._file.write_bytes(session.with_(**fields).to_json())

    def claim(self) -> list[Request]:
        """Take what waits, and launch it; a session that takes work is awake."""
        taken = self.store.claim(self.claimant, 4, lambda _: "take")
        if taken:
            wakeups.clear(self.store, self.claimant.host)
        for request in taken:
            self.store.change_claim(
                RequestId(request.request_id),
                self.claimant.host,
                lambda c: c.with_(launched_at=self.store.now_ms()),
                event="launched",
            )
        return taken

    def answer(self, request: Request, words: str) -> None:
        """Publish the words as a hook would."""
        now_ms = self.store.now_ms()
        verdict = judge(request, words, calls=(), now_ms=now_ms)
        facts: dict[str, Any] = {"now_ms": now_ms, "raw": words}
        if verdict.code is not None and not verdict.is_valid:
            message = explain(verdict.code, verdict.detail)
            response = failed(request, verdict.code, message, **facts)
        else:
            facts |= {"parsed": verdict.parsed, "route": "host"}
            failure = verdict.failure_at(request.stage)
            response = answered(request, failure=failure, **facts)
        self.store.publish(response, source="the test")

    @contextmanager
    def serving(
        self, words: str | Callable[[Request], str] = SUCCESS, *, after_s: float = 0
    ) -> Iterator[list[Request]]:
        """Answer whatever is asked; yields what was."""
        seen: list[Request] = []
        over = threading.Event()

        def serve() -> None:
            while not over.wait(0.01):
                for request in self.claim():
                    seen.append(request)
                    over.wait(after_s)
                    said = words if isinstance(words, str) else words(request)
                    self.answer(request, said)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield seen
        finally:
            over.set()
            thread.join()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project nobody has open."""
    return Project(tmp_path)


@pytest.fixture
def host(project: Project) -> Host:
    """The project, open in a session."""
    return Host(project)


@pytest.fixture
def client(project: Project) -> Iterator[subprocess.Popen[bytes]]:
    """The process of a session that is open in another terminal."""
    store = project.bridge.store
    with subprocess.Popen(["sleep", "600"]) as process:
        host = identify(process.pid)
        assert host is not None
        now_ms = store.now_ms()
        session = Session(session_id="s-1", host=host, registered_at=now_ms, wakes=True)
        sessions.save(store, session)
        yield process
        process.kill()


@pytest.fixture
def home(project: Project, request: pytest.FixtureRequest) -> Path:
    """The user's folder of hostbridge, with the rules that are the module's RULES."""
    folder = project.bridge.settings.home
    folder.mkdir(mode=0o700, parents=True)
    (folder / "rules.yaml").write_text(request.module.RULES)
    return folder


@pytest.fixture
def beside(host: Host, tmp_path: Path) -> Iterator[None]:
    """The client of the open session is no process above us."""
    with started_as_a_client(tmp_path) as client:
        host.change(host=identify(client.pid))
        yield
        client.kill()


@pytest.fixture
def server(project: Project) -> Iterator[ScriptedServer]:
    """The model server that the project asks; it says what the test has it say."""
    with ScriptedServer() as server:
        project.env["BRIDGE_OPENAI_BASE_URL"] = server.url
        yield server


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A hub on this machine, with one model."""
    with Hub() as hub:
        yield hub


@pytest.fixture
def pull(project: Project, hub: Hub) -> Callable[..., Ran]:
    """Runs `models pull` against the hub."""

    def run(*words: str, **env: str) -> Ran:
        where = {"HF_ENDPOINT": hub.url, **env}
        return project.run("models", "pull", *words, env=where)

    return run


@pytest.fixture
def pulled(project: Project) -> Path:
    """Where `models pull` puts what it fetches."""
    return project.bridge.settings.home / "models"


@pytest.fixture
def endpoint(project: Project, server: ScriptedServer) -> Project:  # noqa: ARG001
    """The project, with the route endpoint set up."""
    project.env["BRIDGE_OPENAI_MODEL"] = "m"
    return project


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Any]:
    """Look until there is something to see."""
    return wait_until


@pytest.fixture
def claude(project, tmp_path: Path):
    """Where `claude` is: a fake that obeys, and notes in its folder what it got."""
    program = fake_claude(tmp_path / "fake")
    trust_folder(Path(project.env["HOME"]), project.folder)
    project.env["BRIDGE_CLAUDE"] = str(program)
    return program.parent


@pytest.fixture
def echo(project, tmp_path):
    """A `claude` that says what it was asked."""
    return repeating_claude(project, tmp_path)


@pytest.fixture
def epic(project: Project) -> None:
    """A repository, and a task with two subtasks."""
    make_epic(project, "Round prices", "Add a discount")
