"""Forks in a world of hooks: the user's yes, and programs that ask."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hookworld import HookWorld

from bridge import Bridge
from bridge.store.host_process import identify
from bridge.store.sessions import Session

ASKED = {"prompt": "What did we decide?", "contextFrom": "session"}


def share(world: HookWorld, *, yes: bool = True, whose: str = "project") -> Path:
    """Have the user say yes, or no, in a file of settings."""
    folder = (
        world.store.place.state if whose == "project" else world.bridge.settings.home
    )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / "config.toml"
    file.write_text(f"share_conversation = {str(yes).lower()}\n")
    file.chmod(0o600)
    return file


def outside(world: HookWorld) -> Bridge:
    """The bridge of a program that no session has started."""
    settings = world.bridge.settings.with_(host_pid=None, inside_client=False)
    return Bridge(settings, world.project)


@contextmanager
def another_session(world: HookWorld) -> Iterator[None]:
    """A second session in the project."""
    with subprocess.Popen(["sleep", "600"]) as client:
        host = identify(client.pid)
        session = Session(session_id="session-2", host=host, registered_at=1)
        with world.store.folder("sessions") as folder:
            folder.create("session-2.json", session.to_json())
        yield
        client.kill()


def dropped(world: HookWorld, request: str = "dropped", **fields: object) -> str:
    """A request that a program has written by itself, and that was offered if it is."""
    world.drop(request, **{**ASKED, **fields})
    world.say("UserPromptSubmit", prompt="hi")
    return request


def forked(world: HookWorld, **fields: object) -> tuple[str, str]:
    """A fork at work, to which the user has said yes; request and agent."""
    share(world)
    request = dropped(world, **fields)
    return request, world.start(world.launch(request))


def ended(world: HookWorld, request: str) -> tuple[str, str]:
    """How a request has failed: the code and the message."""
    error = world.response(request).error
    assert error is not None
    return error.code, error.message
