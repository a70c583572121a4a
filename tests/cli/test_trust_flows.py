"""A project's flows do nothing before `hostbridge trust`, and then only those bytes."""

from __future__ import annotations

import os

import pytest
from trustworld import agree

from bridge import NotTrusted
from bridge.api.flow_files import Flows

TEXT = 'general-purpose:"Look around"\n'


@pytest.fixture
def file(project):
    folder = project.folder / ".bridge" / "flows"
    folder.mkdir(parents=True)
    (folder / "mine.flow").write_text(TEXT)
    return folder / "mine.flow"


def found(project, named):
    flows = Flows(project.bridge.settings, project.bridge.store.place.project)
    return flows.find(named)[0]


@pytest.mark.parametrize("how", ["name", "path"])
def test_before_trust_it_is_not_run(project, file, how):
    with pytest.raises(NotTrusted, match="flow 'mine' is defined by this project in"):
        found(project, "mine" if how == "name" else file)


def test_trust_shows_it_as_it_is_written(project, file):
    terminal = agree(project)

    assert f"flow: {file}  (new, or changed)\n    {TEXT}" in terminal.seen
    assert found(project, "mine") == TEXT
    assert "1 definition, trusted already" in project.run("trust").out


def test_a_change_asks_again(project, file):
    agree(project)
    file.write_text(TEXT.replace("around", "away"))

    with pytest.raises(NotTrusted, match="which has changed since you trusted it"):
        found(project, "mine")

    agree(project)
    assert "away" in found(project, "mine")


def test_a_flow_that_is_called_wants_trust_too(project, file):
    caller = project.folder / "a.flow"
    caller.write_text("@call:mine")

    ran = project.run("run", str(caller), "--route", "claude")

    assert ran.code == 1
    assert f"flow 'mine' is defined by this project in {file}" in ran.err


@pytest.mark.parametrize("linked", [".bridge", ".bridge/flows"])
def test_a_link_is_no_way_around_trust(project, file, linked):
    """A stranger's archive may bring a link in place of the folder."""
    place = project.folder / linked
    place.rename(project.folder / "elsewhere")
    place.symlink_to(project.folder / "elsewhere")

    for named in ("mine", file, file.resolve()):
        with pytest.raises(NotTrusted, match="flow 'mine' is defined by this project"):
            found(project, named)

    assert f"flow: {file}  (new, or changed)\n    {TEXT}" in agree(project).seen
    assert found(project, "mine") == TEXT


def test_a_file_does_not_hide_the_flow_of_its_name(project):
    own = project.bridge.settings.home / "flows"
    own.mkdir(parents=True)
    (own / "mine.flow").write_text(TEXT)
    (project.folder / "mine").write_text("Explore:'other'")
    (project.folder / "answers").write_text("general-purpose: fine")

    ran = project.run("run", "mine", "--dry-run", "answers")

    assert ran.out == "node-0  general-purpose\n    Look around\n  says: fine\n"


def test_what_is_no_file_is_no_flow(project, file):
    """Nobody waits for the other end of a pipe, nor reads a device to its end."""
    file.unlink()
    os.mkfifo(file)
    (file.parent / "zero.flow").symlink_to("/dev/zero")

    for name in ("mine", "zero"):
        assert f"no flow is named '{name}'" in project.run("run", name).err
    trust = project.run("trust")
    assert f"{file}: not a plain file; it cannot be trusted" in trust.err


def test_a_flow_without_end_is_not_read_to_it(project):
    (project.folder / "zero.flow").symlink_to("/dev/zero")
    os.mkfifo(project.folder / "pipe.flow")

    assert "longer than 16 MiB" in project.run("run", "./zero.flow").err
    assert "pipe.flow: not a plain file" in project.run("run", "pipe.flow").err


def test_trust_shows_what_has_changed(project, file):
    file.write_text("# a line\n" * 100 + TEXT)
    agree(project)
    file.write_text("# a line\n" * 100 + TEXT.replace("around", "away"))

    shown = agree(project).seen

    assert (
        '    -general-purpose:"Look around"\n    +general-purpose:"Look away"' in shown
    )
    assert shown.count("# a line") < 10
