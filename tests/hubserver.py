"""A hub on loopback that serves one model file, and lists a repository."""

import hashlib
import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from ggufs import gguf

# The library writes 10 MiB at a time.
CHUNK = 10 * 1024 * 1024
MODEL = gguf(tensors={"weight": (16384, 2048)})
DIGEST = hashlib.sha256(MODEL).hexdigest()
REVISION = "0123456789abcdef0123456789abcdef01234567"
FILE = "owner/small-GGUF/small-q4.gguf"
LISTED = ("small-q4.gguf", "small-q8.gguf")


class Hub(ThreadingHTTPServer):
    """Serves one file as the hub does: what it states, then bytes from any place.

    Attributes:
        content: the bytes; `digest`: what is stated about them.
        stated_size: what the answer to HEAD says; by default the true size.
        cut_at: where the first transfer breaks off; None for nowhere.
        packed: the encoding of each answer to GET.
        endless: whether bytes follow after the last one.
        hold: each transfer waits for it before its last byte; it has `begun` by then.
        elsewhere: the address of the server that has the bytes, if not this one.
        refusal: status and code that every request gets instead.
        seen: method, range and credential of each request.
        asked: the paths that were asked for.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content, self.digest = MODEL, DIGEST
        self.cut_at: int | None = None
        self.refusal: tuple[int, str] | None = None
        self.stated_size: int | None = None
        self.endless = False
        self.packed: str | None = None
        self.elsewhere: str | None = None
        self.hold, self.begun = threading.Event(), threading.Event()
        self.hold.set()
        self.seen: list[tuple[str, str | None, str | None]] = []
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hold.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        hub = self.server
        if not self._begin():
            return
        size = str(hub.stated_size or len(hub.content))
        self.send_response(302 if hub.elsewhere else 200)
        if hub.elsewhere:
            self.send_header("Location", f"{hub.elsewhere}/{FILE}")
            self.send_header("X-Linked-Etag", f'"{hub.digest}"')
            self.send_header("X-Linked-Size", size)
        else:
            self.send_header("ETag", f'"{hub.digest}"')
            self.send_header("Content-Length", size)
        self.send_header("X-Repo-Commit", REVISION)
        self.end_headers()

    def do_GET(self) -> None:
        if "/api/models/" in self.path:
            self._list()
            return
        if not self._begin():
            return
        content, hub = self.server.content, self.server
        wanted = self.headers["Range"]
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.send_response(206 if wanted else 200)
        if not hub.endless:
            self.send_header("Content-Length", str(len(content) - start))
        if wanted:
            where = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.send_header("Content-Range", where)
        self._end_headers()
        if hub.cut_at is not None:
            self.wfile.write(content[start : hub.cut_at])
            hub.refusal = (503, "")
            self.close_connection = True
            return
        self.wfile.write(content[start:-1])
        hub.begun.set()
        hub.hold.wait(300)
        self.wfile.write(content[-1:])
        with suppress(OSError):
            while hub.endless:
                self.wfile.write(bytes(CHUNK))

    def _list(self) -> None:
        """The files of the repository, as `GET /api/models/…/tree/main` gives them."""
        self.server.asked.append(self.path)
        names = ("README.md", *LISTED, "big-00001-of-00002.gguf")
        body = json.dumps(
            [
                {"type": "file", "path": name, "size": 1_060_000_000, "oid": "0"}
                for name in names
            ]
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self._end_headers()
        self.wfile.write(body)

    def _end_headers(self) -> None:
        if self.server.packed:
            self.send_header("Content-Encoding", self.server.packed)
        self.end_headers()

    def _begin(self) -> bool:
        headers = self.headers
        self.server.seen.append(
            (self.command, headers["Range"], headers["Authorization"])
        )
        self.server.asked.append(self.path)
        paths = (f"/{FILE.replace('GGUF/', 'GGUF/resolve/main/')}", f"/{FILE}")
        known = self.path.endswith(paths)
        refusal = self.server.refusal or (None if known else (404, "EntryNotFound"))
        if refusal is not None:
            self.send_response(refusal[0])
            self.send_header("X-Error-Code", refusal[1])
            self.send_header("Content-Length", "0")
            self.end_headers()
        return refusal is None

    def log_message(self, *_: object) -> None:
        """Say nothing."""
