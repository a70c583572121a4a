"""Long-lived sessions without a terminal: `claude -p` with stream-json both ways."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
import uuid
from typing import IO, TYPE_CHECKING, Any, Self, cast

from bridge.testing.stage.processes import Member, end, family

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bridge.testing.stage.client import Stage

Event = dict[str, Any]

_FORMAT = ["--input-format", "stream-json", "--output-format", "stream-json"]


class StreamSession:
    """A client that reads prompts from a pipe and writes events to another.

    A context manager: leaving it ends the client. Its stderr is in `stderr_file`.
    """

    def __init__(
        self,
        stage: Stage,
        *,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start the client; it says nothing before the first prompt."""
        self.stderr_file = stage.root / f"stream-{uuid.uuid4().hex[:8]}.stderr"
        with self.stderr_file.open("wb") as stderr:
            self._process = subprocess.Popen(
                stage.command("-p", _FORMAT, "--verbose", args),
                cwd=stage.project,
                env={**stage.environment(), **(env or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )
        self._events: list[Event] = []
        self._changed = threading.Condition()
        self._ended = False
        self._family: list[Member] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The client's process id."""
        return self._process.pid

    @property
    def events(self) -> list[Event]:
        """Every event so far, as a copy."""
        with self._changed:
            return list(self._events)

    def send(self, text: str) -> int:
        """Send a prompt; return how many events there were before it."""
        mark = len(self.events)
        content = [{"type": "text", "text": text}]
        self._write({"type": "user", "message": {"role": "user", "content": content}})
        return mark

    def wait_for(
        self,
        predicate: Callable[[Event], bool],
        *,
        timeout_s: float = 120,
        after: int = 0,
    ) -> Event:
        """Return the first event, past or to come, that satisfies `predicate`.

        The first `after` events do not count.

        Raises:
            TimeoutError: none came within `timeout_s` seconds.
            EOFError: the client ended first.
        """
        deadline = time.monotonic() + timeout_s
        seen = after
        with self._changed:
            while True:
                for event in self._events[seen:]:
                    if predicate(event):
                        return event
                seen = max(seen, len(self._events))
                if self._ended:
                    msg = f"the client ended first: {self.stderr_file.read_text()!r}"
                    raise EOFError(msg)
                if not self._changed.wait(deadline - time.monotonic()):
                    kinds = [event.get("type") for event in self._events[-8:]]
                    msg = f"no such event within {timeout_s} s; the last were {kinds}"
                    raise TimeoutError(msg)

    def wait_for_result(self, *, after: int = 0, timeout_s: float = 120) -> Event:
        """Return the event that ends a turn."""
        return self.wait_for(is_result, timeout_s=timeout_s, after=after)

    def ask(self, text: str, *, timeout_s: float = 120) -> Event:
        """Send a prompt and return the event that ends its turn."""
        return self.wait_for_result(after=self.send(text), timeout_s=timeout_s)

    def close(self, *, grace_s: float = 10) -> int:
        """End the input, let the client finish, and return its exit code.

        What still runs after `grace_s` seconds is killed, and so is what a killed
        client left behind.
        """
        self._family += family(self.pid)
        with contextlib.suppress(OSError):
            self._pipe().close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        end(self._family)
        self._reader.join(5)
        return self._process.wait()

    def kill(self) -> int:
        """Kill the client where it stands, as a crash does; return its exit code.

        Its children live on until `close`.
        """
        self._family += family(self.pid)
        self._process.kill()
        self._reader.join(5)
        return self._process.wait()

    def __enter__(self) -> Self:
        """Return the session itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the client: gently, or at once when the caller failed."""
        if kind is not None:
            self.kill()
        self.close()

    def _pipe(self) -> IO[str]:
        return cast("IO[str]", self._process.stdin)

    def _write(self, line: Event) -> None:
        pipe = self._pipe()
        pipe.write(json.dumps(line) + "\n")
        pipe.flush()

    def _read(self) -> None:
        with cast("IO[str]", self._process.stdout) as output:
            for line in output:
                with contextlib.suppress(ValueError):
                    event = json.loads(line)
                    with self._changed:
                        self._events.append(event)
                        self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def is_result(event: Event) -> bool:
    """Tell whether an event ends a turn."""
    return event.get("type") == "result"
