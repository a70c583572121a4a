"""`hostbridge models pull` among odd hubs, disks and neighbours."""

import os
import pty
import signal
import subprocess
import termios
from contextlib import suppress
from pathlib import Path

import pytest
from hubserver import DIGEST, FILE, MODEL, Hub
from polling import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(project):
    return Path(project.env["HOME"]) / ".hostbridge" / "models"


def test_the_files_of_a_repository_are_listed(pull):
    """A part of a model is no model."""
    pull("owner/small-GGUF").fails(
        2,
        "name a file: owner/small-GGUF has\n  | small-q4.gguf  1.06 GB\n"
        "  | small-q8.gguf  1.06 GB",
    )


def test_error_no_such_file(pull):
    pull("owner/small-GGUF/small-q5.gguf").fails(
        1,
        "no file small-q5.gguf: did you mean 'small-q8.gguf' or 'small-q4.gguf'?\n"
        "  | owner/small-GGUF has\n  |   small-q4.gguf  1.06 GB\n"
        "  |   small-q8.gguf  1.06 GB",
    )


def test_the_bytes_may_be_elsewhere(pull, hub, folder):
    """As on the real hub; what it states counts, and no credential goes along."""
    with Hub() as store:
        hub.elsewhere = f"http://localhost:{store.server_port}"
        ran = pull(FILE, HF_TOKEN="hf_x")  # noqa: S106

    assert ran.code == 0
    assert (folder / "small-q4.gguf").read_bytes() == MODEL
    assert [(how, key) for how, _, key in hub.seen + store.seen] == [
        ("HEAD", None),
        ("GET", None),
    ]


def test_a_proxy_is_used(pull, hub):
    ran = pull(FILE, HF_ENDPOINT="http://hub.invalid", HTTP_PROXY=hub.url)

    assert ran.code == 0
    assert {path.split("/owner")[0] for path in hub.asked} == {"http://hub.invalid"}


def test_error_no_room(pull, hub, folder):
    """It is seen before anything is fetched."""
    hub.stated_size = 10**17

    pull(FILE).refuses(1, "small-q4.gguf takes 100000000.00 GB more, and ")
    assert [how for how, _, _ in hub.seen] == ["HEAD"]
    assert list(folder.iterdir()) == []


def test_error_a_size_below_nothing(pull, hub, folder):
    """It was shown as -0 MB, and anything that came was too much."""
    hub.elsewhere, hub.stated_size = "http://localhost:9", -1

    pull(FILE).refuses(1, "the hub states no SHA-256 and size")
    assert not folder.exists()


def test_error_bytes_that_cannot_be_had(pull, hub, folder):
    """Nothing arrived, so nothing is left; no password is shown."""
    hub.elsewhere = "http://u:sk-secret@127.0.0.1:9"

    ran = pull(FILE)

    assert ran.code == 1
    assert "sk-secret" not in ran.out + ran.err
    assert list(folder.iterdir()) == []


def test_error_a_hub_that_never_ends(pull, hub, folder):
    """No more is written than was stated."""
    hub.endless = True

    pull(FILE).refuses(1, f"the hub sends more than the {len(MODEL)} bytes it stated")
    (partial,) = folder.iterdir()
    assert partial.stat().st_size <= len(MODEL)


@pytest.mark.parametrize("wanted", [FILE, "owner/small-GGUF"], ids=["file", "list"])
def test_error_a_hub_that_packs(pull, hub, wanted):
    """However little it sends, what it becomes has no limit."""
    hub.packed = "gzip"

    pull(wanted).refuses(1, "the server packed its answer (gzip), though asked not to")


def test_error_a_folder_that_cannot_be_made(pull, folder):
    folder.parent.mkdir(parents=True)
    folder.write_text("")

    ran = pull(FILE)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith(f"hostbridge: {folder}: file exists\n")


def test_two_at_once(project, pull, hub, folder):
    """The second one ends; the first one is not disturbed."""
    hub.hold.clear()
    env = {"HF_ENDPOINT": hub.url}
    with project.start("models", "pull", FILE, env=env) as first:
        assert hub.begun.wait(300)
        second = pull(FILE)
        hub.hold.set()
        first.communicate(timeout=300)

    assert (first.returncode, second.code) == (0, 1)
    assert "another process is fetching small-q4.gguf" in second.err
    assert (folder / "small-q4.gguf").read_bytes() == MODEL


def test_an_interrupted_one_goes_on(project, pull, hub, folder):
    hub.hold.clear()
    env = {"HF_ENDPOINT": hub.url}
    partial = folder / f"small-q4.gguf.{DIGEST[:12]}.partial"
    with project.start("models", "pull", FILE, env=env) as first:
        assert wait_until(lambda: partial.exists() and partial.stat().st_size)
        first.send_signal(signal.SIGINT)
        _, said = first.communicate(timeout=300)

    assert first.returncode == 130
    assert b"what has arrived is kept; the same command goes on from there" in said
    kept = partial.stat().st_size
    hub.hold.set()
    assert pull(FILE).code == 0
    assert hub.seen[-1][:2] == ("GET", f"bytes={kept}-")


def test_a_bar_is_shown_on_a_terminal(project, hub):
    """With rate and remaining time; into a file goes one line."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    env = {"HF_ENDPOINT": hub.url, "TERM": "xterm"}
    with project.start(
        "models", "pull", FILE, env=env, stderr=theirs, stdout=subprocess.DEVNULL
    ):
        os.close(theirs)
        data = b""
        # A bar that is drawn for long fills the terminal: it is read meanwhile.
        with suppress(OSError):
            while part := os.read(ours, 1 << 16):
                data += part
    os.close(ours)
    shown = data.decode()

    assert shown.startswith(f"hostbridge: fetching {FILE}: 21 MB, into ")
    assert "small-q4.gguf: 100%" in shown
    assert "B/s]" in shown
