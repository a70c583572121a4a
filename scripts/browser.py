"""A headless Chromium that a test drives, over a pipe, by the DevTools protocol.

Every request of its pages is noted in `requests`, and what a page complains of in
`complaints`; it can reach nothing but files.

Source: Chrome DevTools Protocol; `--remote-debugging-pipe` reads commands from file 3
and writes to file 4, each message ended by a zero byte.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from itertools import count
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
    # Whatever a page asks for by a network goes nowhere.
    "--proxy-server=127.0.0.1:9", "--lang=en",
)  # fmt: skip
# As a browser hands keys on: name, code, and what it types.
KEYS = {
    "Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " "), "ArrowDown": (40, ""),
    "ArrowRight": (39, ""), "ArrowLeft": (37, ""),
}  # fmt: skip


class PageFailed(AssertionError):
    """A script that was to run in the page has failed."""


class Browser:
    """One page in a browser of its own; a context manager."""

    def __init__(self, program: str, profile: Path) -> None:
        their_replies, self._replies = _pipe()
        self._commands, their_commands = _pipe()
        # Numbers above 9, so that neither file is in the way of the other's new place.
        files = (their_commands.fileno(), their_replies.fileno())
        start = f'exec "$0" "$@" 3<&{files[0]} 4>&{files[1]}'
        flags = [*_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", start, program, *flags],
            pass_fds=files,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        their_commands.close()
        their_replies.close()
        self._numbers = count(1)
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def __enter__(self) -> Self:
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(each for each in targets if each["type"] == "page")
        attached = self.call(
            "Target.attachToTarget", targetId=page["targetId"], flatten=True
        )
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        self.call("Browser.close")
        self._process.wait()
        self._commands.close()
        self._replies.close()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while (reply := self._next()).get("id") != number:
            self._note(reply)
        if "error" in reply:
            raise PageFailed(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def open(self, page: Path, *, fragment: str = "") -> None:
        """Load a file, and wait until it is there."""
        self.call("Page.navigate", url=page.as_uri() + fragment)
        self.run(
            "new Promise((done) => document.readyState === 'complete'"
            " ? done() : addEventListener('load', () => done()))"
        )

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        result = self.call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
        )
        if "exceptionDetails" in result:
            raise PageFailed(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def text(self, selector: str) -> str:
        """The text of the first element that this selects."""
        return str(
            self.run(f"document.querySelector({json.dumps(selector)}).innerText")
        )

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key and let it go."""
        number, typed = KEYS[key]
        facts = {
            "key": key,
            "code": "Space" if key == " " else key,
            "windowsVirtualKeyCode": number,
            "modifiers": 8 if shift else 0,
        }
        self.call("Input.dispatchKeyEvent", type="keyDown", text=typed, **facts)
        self.call("Input.dispatchKeyEvent", type="keyUp", **facts)

    def show(self, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        """Show what follows in this scheme and size."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def _next(self) -> dict[str, Any]:
        message = bytearray()
        while (byte := self._replies.read(1)) != b"\0":
            if not byte:
                raise PageFailed("the browser has ended")
            message += byte
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"])[:2000])
            case "Log.entryAdded":
                self.complaints.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled":
                self.complaints.append(json.dumps(params["args"])[:2000])
            case "Page.javascriptDialogOpening":
                raise PageFailed(f"dialog: {params['message']}")


def _pipe() -> tuple[Any, Any]:
    """A pipe whose ends have numbers above 9: the one to write to, then the other."""
    reading, writing = os.pipe()
    ends = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (reading, writing)]
    os.close(reading)
    os.close(writing)
    return open(ends[1], "wb"), open(ends[0], "rb")
