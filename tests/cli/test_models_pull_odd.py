"""`hostbridge models pull` among odd hubs, disks and neighbours."""

import os
import pty
import signal
import subprocess
import termios
from contextlib import suppress

import pytest
from hubserver import DIGEST, FILE, MODEL, Hub
from polling import wait_until

pytestmark = pytest.mark.slow


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


def test_the_bytes_may_be_elsewhere(pull, hub, pulled):
    """As on the real hub; what it states counts, and no credential goes along."""
    with Hub() as store:
        hub.elsewhere = f"http://localhost:{store.server_port}"
        ran = pull(FILE, HF_TOKEN="hf_x")  # noqa: S106

    assert ran.code == 0
    assert (pulled / "small-q4.gguf").read_bytes() == MODEL
    seen = [(how, key) for how, _, key in hub.seen + store.seen]
    assert seen == [("HEAD", None), ("GET", None)]


def test_a_proxy_is_used(pull, hub):
    ran = pull(FILE, HF_ENDPOINT="http://hub.invalid", HTTP_PROXY=hub.url)

    assert ran.code == 0
    assert {path.split("/owner")[0] for path in hub.asked} == {"http://hub.invalid"}


def test_error_a_hub_that_never_ends(pull, hub, pulled):
    """No more is written than was stated."""
    hub.endless = True

    pull(FILE).refuses(1, f"the hub sends more than the {len(MODEL)} bytes it stated")
    (partial,) = pulled.iterdir()
    assert partial.stat().st_size <= len(MODEL)


@pytest.mark.parametrize("wanted", [FILE, "owner/small-GGUF"], ids=["file", "list"])
def test_error_a_hub_that_packs(pull, hub, wanted):
    """However little it sends, what it becomes has no limit."""
    hub.packed = "gzip"

    pull(wanted).refuses(1, "the server packed its answer (gzip), though asked not to")


def test_error_a_folder_that_cannot_be_made(pull, pulled):
    pulled.parent.mkdir(parents=True)
    pulled.write_text("")

    ran = pull(FILE)

    ran.refuses(1, f"hostbridge: {pulled}: file exists\n")


def test_two_at_once(project, pull, hub, pulled):
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
    assert (pulled / "small-q4.gguf").read_bytes() == MODEL


def test_an_interrupted_one_goes_on(project, pull, hub, pulled):
    hub.hold.clear()
    env = {"HF_ENDPOINT": hub.url}
    partial = pulled / f"small-q4.gguf.{DIGEST[:12]}.partial"
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
