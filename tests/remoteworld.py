"""Two machines at one queue, in one process: one asks, the other answers."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from servingworld import GOOD, Scripted, new_worker, saying
from storeworld import request

from bridge.agents.known_agents import Agents
from bridge.config import Settings
from bridge.engine.temporary import define
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.remote.forward import Forward, open_queue
from bridge.remote.here import Here, Terms
from bridge.remote.keys import Address
from bridge.remote.take import Taker
from bridge.store.location import Place
from bridge.store.store import Store
from bridge.worker.worker import Worker


def settings_for(address: Address, home: Path, **more: Any) -> Settings:
    project = f"&project={address.project}" if address.project else ""
    url = f"redis://127.0.0.1:{address.port}/0?name={address.name}{project}"
    return Settings(home=home, queue=more.pop("queue", url), **more)


class Machine:
    """A machine: a home, a project with its state, and what it says."""

    def __init__(self, folder: Path, address: Address, **settings: Any) -> None:
        self.project = folder / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        home = folder / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        self.settings = settings_for(address, home, **settings)
        state = home / "state" / str(self.project)[1:] / "@"
        self.store = Store(
            Place(self.project, state, home, "a test names it"), lock_wait_s=5.0
        )
        self.said: list[str] = []
        self.ended: list[tuple[Response, str]] = []

    def commit(self, *, like: "Machine | None" = None) -> None:
        """Make the project a repository, or a clone of another machine's."""
        if like is not None:
            git(self.project, "clone", "-q", str(like.project), ".")
            return
        git(self.project, "init", "-q")
        self.commit_again()

    def commit_again(self) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        git(self.project, *who, "commit", "-q", "--allow-empty", "-m", "x")

    def agent(self, name: str, prompt: str = "Look.", more: str = "") -> None:
        folder = self.settings.home / "agents"
        folder.mkdir(exist_ok=True)
        text = f"name: {name}\ndescription: d\nprompt: {prompt}\n{more}"
        (folder / f"{name}.yaml").write_text(text)

    @property
    def define(self) -> Callable[[Request], Any]:
        agents = Agents.open(self.settings, self.project)
        return partial(define, self.store, agents)

    def asks(self, name: str = "a", **fields: Any) -> Request:
        """A request that waits to be put on the queue."""
        fields = {"timeout": 60_000, "created_at": self.store.now_ms(), **fields}
        made = request(name, route="remote", **fields)
        self.store.submit(made)
        return made

    def forward(self, name: str = "a") -> Response:
        """Have it answered; returns how it ended."""
        queue = open_queue(self.settings)
        try:
            forward = Forward(queue, self.store, self.settings)
            worker = Worker(
                self.store, "remote", forward, define=self.define, max_depth=2
            )
            worker.see_through(RequestId(name))
        finally:
            queue.close()
        return self.response(name)

    def response(self, name: str = "a") -> Response:
        found = self.store.find(RequestId(name))
        assert found is not None
        assert found.response is not None, found
        return found.response

    def taker(self, *executors: Any, **how: Any) -> Taker:
        terms = {
            name: how.pop(name)
            for name in ("routes", "agents", "same_commit")
            if name in how
        }
        executors = executors or (saying(GOOD),)
        terms = {"routes": ("claude",), **terms}
        serves = [{"claude": self._serve(each)} for each in executors]
        queue = open_queue(self.settings)
        terms = Terms(slots=len(executors), **terms)
        return Taker(
            queue,
            self.store,
            self.settings,
            Here(self.store, self.settings, terms, queue.address),
            serves,
            lambda response, asker: self.ended.append((response, asker)),
            self.said.append,
            **how,
        )

    def _serve(self, executor: Any) -> Callable[..., object]:
        worker = new_worker(self.store, executor, define=self.define)

        def serve(request_id, on_stage):
            worker.on_stage = on_stage
            worker.see_through(request_id)

        return serve

    @contextmanager
    def serving(self, *executors: Any, **how: Any) -> Iterator[Taker]:
        """Serve in a thread, to the end of the block."""
        taker = self.taker(*executors, **how)
        thread = threading.Thread(target=taker.run, daemon=True)
        thread.start()
        try:
            yield taker
        finally:
            taker.leave()
            thread.join(timeout=30)
            assert not thread.is_alive()
            taker.queue.close()


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def acting(act: Callable[..., Any]) -> Scripted:
    return Scripted(act)


def until(holds: Callable[[], Any], most_s: float = 30.0) -> Any:
    """What `holds` says, as soon as that is true."""
    until_s = time.monotonic() + most_s
    while not (found := holds()):
        assert time.monotonic() < until_s, "it never came"
        time.sleep(0.02)
    return found
