"""`hostbridge show` of a request whose file cannot be read: it is there, and why."""

import os
import shutil
import time

import pytest


def drop(project, fields):
    """Write a request as another program would: a file, of two minutes ago."""
    file = project.drop("a", **fields)
    long_ago_s = time.time() - 120
    os.utime(file, (long_ago_s, long_ago_s))
    return file


@pytest.mark.parametrize(
    ("fields", "why", "cure"),
    [
        ({"route": "mars"}, "route: must be 'host', ", "correct the file, or remove"),
        (
            {"schemaVersion": 9},
            "schemaVersion 9 is newer than 1, ",
            "update hostbridge",
        ),
    ],
    ids=["unknown route", "newer"],
)
def test_a_request_that_cannot_be_read_is_not_called_gone(project, fields, why, cure):
    """It is there: why it is not served, and what helps, is in its file."""
    file = drop(project, fields)

    shown = project.run("show", "a").out

    head = "request   a\nstatus    there, but it cannot be read\nproblem\n    "
    assert shown.startswith(f"{head}{file}: {why}")
    assert f"; {cure}" in shown
    for command in ("cancel", "wait"):
        said = f"hostbridge: request a cannot be read: {file}: {why}"
        project.run(command, "a").refuses(1, said, f"; {cure}")
    assert file.exists()


def test_what_was_put_aside_says_so(project):
    """As any request that cannot be read, and moved back it is served."""
    file = drop(project, {"route": "mars"})
    project.bridge.store.sweep(everything=True)
    (aside,) = (project.state / "quarantine").glob("a.json.*[!n]")

    shown = project.run("show", "a")
    waited = project.run("wait", "a")

    message = f"{aside}: route: must be 'host', "
    assert (
        f"status    there, but it cannot be read\nproblem\n    {message}" in shown.out
    )
    assert waited.err.startswith(f"hostbridge: request a cannot be read: {message}")
    assert waited.err.endswith(f"; correct the file and move it to {file}\n")

    aside.write_text(aside.read_text().replace("mars", "host"))
    aside.rename(file)
    assert "status    waiting\n" in project.run("show", "a").out


def test_what_was_put_aside_and_removed_is_gone(project):
    drop(project, {"route": "mars"})
    project.bridge.store.sweep(everything=True)
    shutil.rmtree(project.state / "quarantine")

    shown = project.run("show", "a").out

    assert "status    gone; only traces are left\n" in shown
    assert "quarantined reason=route: must be 'host', " in shown
