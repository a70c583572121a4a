"""A real redis-server of a test's own, with a folder and a configuration of its own."""

import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import needs
import redis

from bridge.remote.keys import Address, Needs, Taken, read_address
from bridge.remote.queue import Queue


class Server:
    """A redis-server on a loopback port; `settings` are lines of its configuration."""

    def __init__(self, folder: Path, settings: str = "", port: int = 0) -> None:
        self.folder, self.settings = folder, settings
        self.port = port or free_port()
        self._program = needs.tool("redis-server")
        self._process: subprocess.Popen[bytes] | None = None
        self.under: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0?name=shop"

    @property
    def address(self) -> Address:
        return read_address(self.url)

    def start(self, *, settings: str | None = None) -> None:
        if settings is not None:
            self.settings = settings
        config = self.folder / "redis.conf"
        config.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\nsave ''\n"
            f"appendonly yes\nappendfsync always\n{self.settings}\n"
        )
        log = (self.folder / "log").open("ab")
        words = [*self.under, self._program, str(config)]
        self._process = subprocess.Popen(words, stdout=log, stderr=log)
        log.close()
        until_s = time.monotonic() + 30
        while time.monotonic() < until_s:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                if self._is_ready():
                    return
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError((self.folder / "log").read_text()[-2000:])

    def _is_ready(self) -> bool:
        with suppress(redis.RedisError), self.client() as client:
            client.ping()
            return True
        # It has a password, or speaks TLS: it has answered, at least.
        return "requirepass" in self.settings or "tls-" in self.settings

    def client(self, **how) -> redis.Redis:
        return redis.Redis(port=self.port, **how)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def empty(self) -> None:
        """Kill it, and have it forget all."""
        self.kill()
        shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def server(settings: str = "") -> Iterator[Server]:
    """A running server; the name of its folder is short, as sockets' must be."""
    folder = Path(tempfile.mkdtemp(prefix="hb-redis-"))
    made = Server(folder, settings)
    try:
        made.start()
        yield made
    finally:
        made.kill()
        shutil.rmtree(folder, ignore_errors=True)


class Side:
    """One process at a queue: it puts entries there, or takes them."""

    def __init__(self, address: Address, name: str, password: str | None = None):
        self.queue = Queue(address, password)
        self.name = name
        self.address = f"{name}.{secrets.token_hex(4)}"

    def put(self, number: int | str, level: str = "normal", **how) -> str:
        how = {"left_ms": 60_000, "tries": 3, "needs": Needs(agent="lint"), **how}
        entry = f"{'a' * 16}.{number}.0"
        body = how.pop("request", b'{"request": {}}')
        self.queue.put(
            entry, body, how.pop("needs"), level=level, to=self.address,
            machine=self.name, **how,
        )  # fmt: skip
        return entry

    def take(self, *kinds: Needs, lease_s: float = 30.0) -> Taken | None:
        wanted = [each.kind for each in kinds or (Needs(agent="lint"),)]
        found = self.queue.take(self.address, self.name, wanted, lease_s=lease_s)
        return found if isinstance(found, Taken) else None

    def publish(self, taken: Taken, answer: bytes = b"{}", *, is_valid=True) -> str:
        return self.queue.publish(taken, answer, is_valid=is_valid, machine=self.name)

    def heard(self, wait_s: float = 1.0) -> list[tuple[str, str]]:
        key = self.queue.address.key("to", self.address)
        found = self.queue.hear({key: "0"}, wait_s)
        return [(each.what, each.entry) for each in found]
