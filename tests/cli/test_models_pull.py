"""`hostbridge models pull`: a whole file or none, from a hub on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from ggufs import gguf

# The library writes 10 MiB at a time.
CHUNK = 10 * 1024 * 1024
MODEL = gguf(tensors={"weight": (16384, 2048)})
DIGEST = hashlib.sha256(MODEL).hexdigest()
REVISION = "0123456789abcdef0123456789abcdef01234567"
FILE = "owner/small-GGUF/small-q4.gguf"


class Hub(ThreadingHTTPServer):
    """Serves one file as the hub does: what it states, then bytes from any place.

    Attributes:
        content: the bytes; `digest`: what is stated about them.
        cut_at: where the first transfer breaks off; None for nowhere.
        refusal: status and code that every request gets instead.
        seen: method, range and credential of each request.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content, self.digest = MODEL, DIGEST
        self.cut_at: int | None = None
        self.refusal: tuple[int, str] | None = None
        self.seen: list[tuple[str, str | None, str | None]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        if self._begin():
            self.send_response(200)
            self.send_header("ETag", f'"{self.server.digest}"')
            self.send_header("X-Repo-Commit", REVISION)
            self.send_header("Content-Length", str(len(self.server.content)))
            self.end_headers()

    def do_GET(self) -> None:
        if not self._begin():
            return
        content, hub = self.server.content, self.server
        wanted = self.headers["Range"]
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(content) - start))
        if wanted:
            where = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.send_header("Content-Range", where)
        self.end_headers()
        if hub.cut_at is not None:
            self.wfile.write(content[start : hub.cut_at])
            hub.refusal = (503, "")
            self.close_connection = True
        else:
            self.wfile.write(content[start:])

    def _begin(self) -> bool:
        headers = self.headers
        self.server.seen.append(
            (self.command, headers["Range"], headers["Authorization"])
        )
        known = self.path == f"/{FILE.replace('GGUF/', 'GGUF/resolve/main/')}"
        refusal = self.server.refusal or (None if known else (404, "EntryNotFound"))
        if refusal is not None:
            self.send_response(refusal[0])
            self.send_header("X-Error-Code", refusal[1])
            self.send_header("Content-Length", "0")
            self.end_headers()
        return refusal is None

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub():
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def pull(project, hub):
    """Run the command against the hub."""

    def run(*words: str, **env: str):
        where = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", **env}
        return project.run("models", "pull", *words, env=where)

    return run


@pytest.fixture
def folder(project):
    return Path(project.env["HOME"]) / ".hostbridge" / "models"


def test_a_model_is_fetched_and_checked(pull, hub, folder):
    ran = pull(FILE, "--json", HF_TOKEN="hf_x")  # noqa: S106

    path = folder / "small-q4.gguf"
    note = {
        "repository": "owner/small-GGUF",
        "path": "small-q4.gguf",
        "revision": REVISION,
        "sha256": DIGEST,
    }
    assert (ran.code, json.loads(ran.out)) == (0, {"model": str(path), **note})
    assert path.read_bytes() == MODEL
    assert json.loads((folder / "small-q4.gguf.source.json").read_bytes()) == note
    assert len(os.listdir(folder)) == 2
    # Whoever is signed in to the hub does not ask as that person.
    assert {credential for _, _, credential in hub.seen} == {None}


def test_what_is_here_is_not_fetched_again(pull, hub):
    pull(FILE)

    assert pull(FILE).code == 0
    assert [method for method, _, _ in hub.seen] == ["HEAD", "GET", "HEAD"]


def test_a_transfer_goes_on_where_it_stopped(pull, hub, folder):
    hub.cut_at = CHUNK + 1000

    first = pull(FILE)

    assert first.code == 1
    assert "what has arrived is kept, so try again" in first.err
    [partial] = os.listdir(folder)
    assert (folder / partial).read_bytes() == MODEL[:CHUNK]

    hub.cut_at = hub.refusal = None
    assert pull(FILE).code == 0
    assert hub.seen[-1][:2] == ("GET", f"bytes={CHUNK}-")
    assert (folder / "small-q4.gguf").read_bytes() == MODEL


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (MODEL[:-1] + b"x", "the hub states"),
        (b"<html>" + MODEL[6:], "it is no model"),
    ],
    ids=["other bytes", "no model"],
)
def test_error_what_arrives_is_not_the_model(pull, hub, folder, content, problem):
    hub.content = content
    if problem != "the hub states":
        hub.digest = hashlib.sha256(content).hexdigest()

    ran = pull(FILE)

    assert ran.code == 1
    assert problem in ran.err
    assert ran.err.endswith("it was removed\n")
    assert os.listdir(folder) == []


def test_error_another_file_of_that_name(pull, folder):
    folder.mkdir(parents=True)
    (folder / "small-q4.gguf").write_bytes(b"mine")

    ran = pull(FILE)

    assert ran.code == 1
    assert "is there already and differs" in ran.err
    assert (folder / "small-q4.gguf").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("refusal", "problem"),
    [
        ((404, "RepoNotFound"), "the hub has no repository owner/small-GGUF"),
        ((404, "EntryNotFound"), "owner/small-GGUF has no file small-q4.gguf"),
        ((403, "GatedRepo"), "only to those who sign in"),
        ((500, ""), "could not be fetched"),
    ],
)
def test_error_the_hub_refuses(pull, hub, refusal, problem):
    hub.refusal = refusal

    ran = pull(FILE)

    assert (ran.code, ran.out) == (1, "")
    assert problem in ran.err
    assert "Traceback" not in ran.err


def test_error_the_hub_states_no_digest(pull, hub, folder):
    """A small file in git has another kind of digest."""
    hub.digest = "0" * 40

    ran = pull(FILE)

    assert ran.code == 1
    assert "the hub states no SHA-256" in ran.err
    assert not folder.exists()


def test_error_no_hub(pull):
    ran = pull(FILE, HF_ENDPOINT="http://127.0.0.1:9")

    assert ran.code == 1
    assert "could not be fetched" in ran.err


@pytest.mark.parametrize(
    "wanted",
    [
        "small",
        "owner/name",
        "owner/name/file.bin",
        "a/b/m-00001-of-00002.gguf",
        "a//b.gguf",
    ],
)
def test_error_what_names_no_file(pull, hub, wanted):
    ran = pull(wanted)

    assert ran.code == 2
    assert hub.seen == []


def test_some_models_are_recommended(pull, hub):
    ran = pull()

    assert ran.code == 0
    assert "llama-3.2-3b  2.0 GB, licence llama3.2" in ran.out
    assert "hostbridge's own tests run none of these" in ran.out
    assert hub.seen == []
