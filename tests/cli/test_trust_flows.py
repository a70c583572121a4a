"""A project's flows and workflows do nothing before `hostbridge trust`.

Then those bytes do, and no others.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from trustworld import agree

from bridge import NotTrusted
from bridge.api.flow_files import Flows
from bridge.api.pipeline_files import Workflows

pytestmark = pytest.mark.slow

TEXTS = {
    "flow": 'general-purpose:"Look around"\n',
    "workflow": 'allow: ["Bash(pytest *)"]\nsteps: [{id: tests, exec: [pytest, -q]}]\n',
}
# A change, as lines of the difference, and what may be run then.
CHANGES = {
    "flow": ("around", "away", ""),
    "workflow": ("pytest *", "*", "runs Bash(*): every command: all that you can do"),
}
PADDING = "# a line\n" * 100


class Mine(NamedTuple):
    """A flow, or a workflow, of the name `mine`, in its project."""

    kind: str
    file: Path

    @property
    def text(self) -> str:
        """What it says at first."""
        return TEXTS[self.kind]

    @property
    def refusal(self) -> str:
        """How it is refused."""
        return f"{self.kind} 'mine' is defined by this project in"


@pytest.fixture(params=TEXTS)
def mine(project, request) -> Mine:
    kind = request.param
    name = "mine.flow" if kind == "flow" else "mine.yaml"
    return Mine(kind, project.write(f".bridge/{kind}s/{name}", TEXTS[kind]))


def loaded(project, mine: Mine, named: Any = "mine"):
    """What would be run of it: its text, or its steps."""
    place = (project.bridge.settings, project.bridge.store.place.project)
    if mine.kind == "flow":
        return Flows(*place).find(named)[0]
    return [*Workflows(*place).compiled(named)[0]["nodes"]]


def test_before_trust_it_is_not_run(project, mine):
    for named in ("mine", mine.file):
        with pytest.raises(NotTrusted, match=mine.refusal):
            loaded(project, mine, named)


def test_trust_shows_it_as_it_is_written(project, mine):
    """And first what it would run."""
    shown = agree(project).seen

    head, _, text = shown.partition("  (new)\n")
    assert head.endswith(f"{mine.kind}: {mine.file}")
    if mine.kind == "workflow":
        assert text.startswith("    runs Bash(pytest *): pytest with")
    assert mine.text in text.replace("\n    ", "\n").replace("    ", "", 1)
    assert loaded(project, mine) == (mine.text if mine.kind == "flow" else ["tests"])
    assert "1 definition, trusted already" in project.run("trust").out


def test_a_change_asks_again_and_is_shown(project, mine):
    old, new, more = CHANGES[mine.kind]
    mine.file.write_text(PADDING + mine.text)
    agree(project)
    mine.file.write_text(PADDING + mine.text.replace(old, new))

    with pytest.raises(NotTrusted, match="which has changed since you trusted it"):
        loaded(project, mine)

    shown = agree(project).seen
    line = mine.text.splitlines()[0]
    assert f"    -{line}\n    +{line.replace(old, new)}" in shown
    assert more in shown
    assert shown.count("# a line") < 10
    found = loaded(project, mine)
    assert found == ["tests"] or new in found


def test_what_is_called_wants_trust_too(project, mine):
    caller = project.folder / f"a{mine.file.suffix}"
    calls = {"flow": "@call:mine", "workflow": "steps: [{id: x, pipeline: mine}]\n"}
    caller.write_text(calls[mine.kind])

    ran = project.run("run", str(caller), "--route", "claude")

    ran.refuses(1, f"{mine.refusal} {mine.file}")


@pytest.mark.parametrize("linked", [".bridge", ".bridge/{}s"])
def test_a_link_is_no_way_around_trust(project, mine, linked):
    """A stranger's archive may bring a link in place of the folder."""
    place = project.folder / linked.format(mine.kind)
    place.rename(project.folder / "elsewhere")
    place.symlink_to(project.folder / "elsewhere")

    for named in ("mine", mine.file, mine.file.resolve()):
        with pytest.raises(NotTrusted, match=mine.refusal):
            loaded(project, mine, named)

    assert f"{mine.kind}: {mine.file}  (new)\n" in agree(project).seen
    assert loaded(project, mine) in (mine.text, ["tests"])


def test_nor_is_a_link_to_the_file_itself(project, mine, tmp_path):
    """What the next `git pull` brings would run by a link that somebody made once."""
    named = f"other{mine.file.suffix}"
    users = project.bridge.settings.home / f"{mine.kind}s" / named
    users.parent.mkdir(parents=True)
    for link in (users, project.folder / named, tmp_path / named):
        link.symlink_to(mine.file)

        with pytest.raises(NotTrusted, match=mine.refusal):
            loaded(project, mine, link)
    with pytest.raises(NotTrusted, match=mine.refusal):
        loaded(project, mine, "other")

    agree(project)
    assert loaded(project, mine, "other") in (mine.text, ["tests"])


def test_a_file_does_not_hide_the_flow_of_its_name(project):
    project.write("flows/mine.flow", TEXTS["flow"], own=True)
    (project.folder / "mine").write_text("Explore:'other'")
    (project.folder / "answers").write_text("general-purpose: fine")

    ran = project.run("run", "mine", "--dry-run", "answers")

    assert ran.out == "node-0  general-purpose\n    Look around\n  says: fine\n"


def test_a_flow_without_end_is_not_read_to_it(project):
    (project.folder / "zero.flow").symlink_to("/dev/zero")
    os.mkfifo(project.folder / "pipe.flow")

    assert "zero.flow: not a plain file" in project.run("run", "./zero.flow").err
    assert "pipe.flow: not a plain file" in project.run("run", "pipe.flow").err


@pytest.mark.parametrize("mine", ["workflow"], indirect=True)
def test_a_file_in_an_archive_runs_nothing_by_lying_there(project, mine):
    """Looking at it, listing it and drawing it start nothing and need no trust."""
    sign = project.folder / "sign"
    mine.file.write_text(f"allow: [Bash]\nsteps: [{{id: x, exec: [touch, {sign}]}}]\n")

    assert '"trusted":false' in project.run("workflow", "list", "--json").out
    assert project.run("workflow", "check", str(mine.file)).code == 0
    assert "x  exec" in project.run("workflow", "graph", str(mine.file)).out
    assert not sign.exists()


IN_NO_FILE = {
    "mine": "not a plain file",
    "zero": "is a link; a project must bring the file itself",
    "large": "larger than 256 KiB",
}


def test_what_is_no_file_is_not_read(project, mine):
    """Nobody waits for the other end of a pipe, nor reads a device to its end."""
    mine.file.unlink()
    os.mkfifo(mine.file)
    mine.file.with_stem("zero").symlink_to("/dev/zero")
    mine.file.with_stem("large").write_text("# " + "x" * (1 << 19))

    trusted = project.run("trust").err
    for name, why in IN_NO_FILE.items():
        assert why in project.run("run", name).err
        assert f"{mine.file.with_stem(name)}: {why}; it cannot be trusted" in trusted


def test_a_pipeline_beside_the_caller_takes_no_named_ones_place(project):
    """With a file that is run by its path a stranger may have sent others."""
    call = "steps: [{id: call, pipeline: nightly}]\n"
    own = project.folder / "own.yaml"
    own.write_text(call)
    folder = project.bridge.settings.home / "workflows"
    folder.mkdir(parents=True, exist_ok=True)
    named = folder / "nightly.yaml"
    for file, words in {named: "mine", own.with_name("nightly.yaml"): "theirs"}.items():
        step = f"{{id: say, exec: [echo, {words}]}}"
        file.write_text(f'allow: ["Bash(echo *)"]\nsteps: [{step}]\n')

    ran = project.run("run", "own.yaml")
    named.unlink()
    again = project.run("run", "own.yaml")

    assert ran.code == again.code == 0, ran.err + again.err
    assert ("mine" in ran.out + ran.err) is ("theirs" in again.out + again.err) is True
    assert "theirs" not in ran.out + ran.err
