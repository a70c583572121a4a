"""A project's flows do nothing before `hostbridge trust`, and then only those bytes."""

from __future__ import annotations

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
