"""A project's workflows do nothing before `hostbridge trust`, and then those bytes."""

from __future__ import annotations

import os

import pytest
from trustworld import agree

from bridge import NotTrusted
from bridge.api.pipeline_files import Pipelines

TEXT = """\
allow: ["Bash(pytest *)"]
steps:
  - {id: tests, exec: [pytest, -q]}
"""


@pytest.fixture
def file(project):
    folder = project.folder / ".bridge" / "workflows"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(TEXT)
    return folder / "mine.yaml"


def compiled(project, named):
    pipelines = Pipelines(project.bridge.settings, project.bridge.store.place.project)
    return [*pipelines.compiled(named)[0]["nodes"]]


@pytest.mark.parametrize("how", ["name", "path"])
def test_before_trust_it_is_not_run(project, file, how):
    with pytest.raises(NotTrusted, match="workflow 'mine' is defined by this project"):
        compiled(project, "mine" if how == "name" else file)


def test_trust_shows_what_it_would_run_first(project, file):
    shown = agree(project).seen

    head = f"workflow: {file}  (new, or changed)\n    runs Bash(pytest *): pytest with"
    assert head in shown
    assert "      - {id: tests, exec: [pytest, -q]}" in shown
    assert compiled(project, "mine") == ["tests"]
    assert "1 definition, trusted already" in project.run("trust").out


def test_a_change_asks_again(project, file):
    agree(project)
    file.write_text(TEXT.replace("pytest *", "*"))

    with pytest.raises(NotTrusted, match="which has changed since you trusted it"):
        compiled(project, "mine")

    shown = agree(project).seen
    assert "    runs Bash(*): every command: all that you can do yourself" in shown
    assert '    -allow: ["Bash(pytest *)"]\n    +allow: ["Bash(*)"]' in shown
    assert compiled(project, "mine") == ["tests"]


def test_a_pipeline_that_is_called_wants_trust_too(project, file):
    caller = project.folder / "a.yaml"
    caller.write_text("steps: [{id: x, pipeline: mine}]\n")

    ran = project.run("run", "./a.yaml", "--route", "claude")

    assert ran.code == 1
    assert f"workflow 'mine' is defined by this project in {file}" in ran.err


@pytest.mark.parametrize("linked", [".bridge", ".bridge/workflows"])
def test_a_link_is_no_way_around_trust(project, file, linked):
    """A stranger's archive may bring a link in place of the folder."""
    place = project.folder / linked
    place.rename(project.folder / "elsewhere")
    place.symlink_to(project.folder / "elsewhere")

    for named in ("mine", file, file.resolve()):
        with pytest.raises(NotTrusted, match="workflow 'mine' is defined by"):
            compiled(project, named)


def test_a_file_in_an_archive_runs_nothing_by_lying_there(project, file):
    """Looking at it, listing it and drawing it start nothing and need no trust."""
    sign = project.folder / "sign"
    file.write_text(f"allow: [Bash]\nsteps: [{{id: x, exec: [touch, {sign}]}}]\n")

    listed = project.run("workflow", "list", "--json")
    assert '"trusted":false' in listed.out
    assert project.run("workflow", "check", str(file)).code == 0
    assert "x  exec" in project.run("workflow", "graph", str(file)).out
    assert not sign.exists()


def test_what_is_no_file_is_no_workflow(project, file):
    """Nobody waits for the other end of a pipe, nor reads a device to its end."""
    file.unlink()
    os.mkfifo(file)
    (file.parent / "zero.yaml").symlink_to("/dev/zero")
    (file.parent / "large.yaml").write_text("# " + "x" * (1 << 19))

    for name, why in (
        ("mine", "not a plain file"),
        ("zero", "is a link; a project must bring the file itself"),
        ("large", "larger than 256 KiB"),
    ):
        assert why in project.run("run", name).err
        assert f"{name}.yaml: {why}" in project.run("trust").err
