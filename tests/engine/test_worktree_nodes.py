"""Worktrees of a pipeline: made, committed, merged and removed, each once."""

import os
import shlex
import shutil
from pathlib import Path

import pytest
from engine.pipeworld import PipeWorld, pipeline, program, tool, worktree
from gitworld import git

from bridge.api.bridge import Bridge
from bridge.api.project_status import overview
from bridge.engine import by_hand
from bridge.store.live_runs import mark
from bridge.worker.long_work import LongWork
from bridge.worktrees.leftovers import free, leftovers

pytestmark = pytest.mark.slow


@pytest.fixture
def world(tmp_path):
    world = PipeWorld(tmp_path)
    project = world.store.place.project
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", "A")
    git(project, "config", "user.email", "a@b")
    (Path(project) / "file").write_text("one\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    return world


FOLDER = "${{ steps.clone.output.folder }}"
WRITE = "import sys; open('file', 'a').write(sys.argv[1])"


def work(text="two\n", **more):
    return pipeline(
        clone=worktree("create", name="#7"),
        dev=program("python3", "-c", WRITE, text, cwd=FOLDER),
        commit=worktree("commit", worktree=FOLDER, message="work on #7"),
        **more,
        merge=worktree("merge", worktree=FOLDER),
        cleanup=worktree("remove", worktree=FOLDER),
        after=tool("set", "${{ steps.merge.output.how }}"),
    )


def finish(world, run):
    ended = world.do_all(run)
    assert (ended["status"], ended["why"]) == ("completed", "")


def test_what_is_made_in_a_worktree_comes_into_the_branch(world):
    run = world.begin(work())

    finish(world, run)

    project = world.store.place.project
    assert (Path(project) / "file").read_text() == "one\ntwo\n"
    assert git(project, "log", "--format=%s").startswith("work on #7")
    assert git(project, "branch", "--format=%(refname:short)").split() == ["main"]
    clone = world.output(run, "clone")
    assert clone["branch"] == f"hostbridge/{run}/7"
    assert not Path(clone["folder"]).exists()


@pytest.mark.parametrize(
    ("text", "is_committed", "changed", "files", "how"),
    [
        ("", False, False, [], "nothing"),
        ("two\n", False, True, ["file"], "nothing"),
        ("two\n", True, True, [], "fast-forward"),
    ],
)
def test_a_branch_without_a_change_is_not_merged(
    world, text, is_committed, changed, files, how
):
    """Whoever goes on after a merge must be able to tell that there was none."""
    commit = {"commit": worktree("commit", worktree=FOLDER, message="work on #7")}
    plan = pipeline(
        clone=worktree("create", name="#7"),
        dev=program("python3", "-c", WRITE, text, cwd=FOLDER),
        **commit if is_committed else {},
        status=worktree("status", worktree=FOLDER),
        merge=worktree("merge", worktree=FOLDER),
    )
    project = world.store.place.project
    before = git(project, "rev-parse", "main").strip()
    run = world.begin(plan)

    finish(world, run)

    assert world.output(run, "status") == {"changed": changed, "files": files}
    merged = world.output(run, "merge")
    assert (merged["how"], merged["into"]) == (how, "main")
    assert (merged["commit"] is None) is (how == "nothing")
    after = git(project, "rev-parse", "main").strip()
    assert (after == before) is (how == "nothing")


def test_a_merge_that_conflicts_names_the_files_and_loses_nothing(world):
    project = world.store.place.project
    other = program("python3", "-c", "open('file','w').write('other\\n')")
    told = program("git", "commit", "-qam", "other")
    run = world.begin(work(other=other, told=told))

    ended = world.do_all(run)

    assert ended["status"] == "failed"
    assert ended["why"].startswith("merge: ")
    assert "file" in ended["why"]
    branch = f"hostbridge/{run}/7"
    assert git(project, "show", f"{branch}:file") == "one\ntwo\n"
    assert (Path(world.output(run, "clone")["folder"]) / "file").exists()


@pytest.mark.parametrize(
    ("why", "action", "argument", "values"),
    [
        ("the name of a worktree", "create", "name", ["", "../x", "a/b", ".git"]),
        ("a worktree of this run", "remove", "worktree", ["", "/", "../other", "a/b"]),
        ("there is no worktree", "merge", "worktree", ["nine"]),
    ],
)
def test_only_a_worktree_of_the_run_is_touched(world, why, action, argument, values):
    for value in values:
        run = world.begin(pipeline(only=worktree(action, **{argument: value})))
        assert why in world.do_all(run)["why"], value


CHANGE = (
    "import json,sys; from pathlib import Path; file = Path(sys.argv[1] + '.json');"
    "said = json.loads(file.read_text()); said[sys.argv[2]] = '/elsewhere';"
    "file.write_text(json.dumps(said))"
)


@pytest.mark.parametrize("key", ["project", "branch"])
def test_error_a_record_that_was_changed(world, key):
    """An agent that works beside it cannot send a merge to another repository."""
    run = world.begin(work(spoil=program("python3", "-c", CHANGE, FOLDER, key)))

    ended = world.do_all(run)

    assert ended["status"] == "failed"
    assert "is not as this run has written it" in ended["why"]


def test_cleaning_the_project_in_the_middle_of_a_run_loses_nothing(world):
    """`git clean -ffdx` removes what git does not know; the worktree is elsewhere."""
    project = Path(world.store.place.project)
    (project / "loose").touch()
    run = world.begin(work(clean=program("git", "clean", "-ffdxq")))

    finish(world, run)

    assert (project / "file").read_text() == "one\ntwo\n"


def test_a_branch_that_is_switched_in_the_middle_of_a_run(world):
    """The work comes into the branch that it began from; the person's files stay."""
    project = Path(world.store.place.project)
    run = world.begin(work(switch=program("git", "switch", "-qc", "mine")))

    finish(world, run)

    assert git(project, "branch", "--show-current") == "mine\n"
    assert (project / "file").read_text() == "one\n"
    assert git(project, "show", "main:file") == "one\ntwo\n"
    assert git(project, "status", "--porcelain") == ""


def test_error_what_the_person_has_changed_meanwhile(world):
    """It is named, and the run can go on once it is out of the way."""
    project = Path(world.store.place.project)
    edit = "open('file', 'a').write('mine')"
    run = world.begin(work(edit=program("python3", "-c", edit)))

    ended = world.do_all(run)

    assert "would overwrite what is not committed: file" in ended["why"]
    assert (project / "file").read_text() == "one\nmine"


def test_a_pipe_among_gits_files_holds_no_run_beyond_its_end(world):
    """libgit2 opens it and waits, and with it the whole process that it is in."""
    waited = set()
    for name in (
        "config", "HEAD", "index", "packed-refs", "shallow", "info/exclude",
        "info/attributes", "commondir", "../.gitattributes",
    ):  # fmt: skip
        clone = worktree("create", name="one")
        run = world.begin(pipeline(clone=clone, c=worktree("commit", worktree=FOLDER)))
        world.do_all(run, until="c")
        file = Path(world.store.place.project, ".git", name)
        kept = file.read_bytes() if file.exists() else None
        file.unlink(missing_ok=True)
        file.parent.mkdir(exist_ok=True)
        os.mkfifo(file)

        with LongWork(world.store, world.settings) as work:
            work.take(world.long)
            if not work.wait(1.0):
                waited.add(name)

        file.unlink()
        if kept is not None:
            file.write_bytes(kept)
    assert waited == {"config", "shallow", "info/exclude", "info/attributes"}


DEV = program("python3", "-c", WRITE, "2", cwd=FOLDER)
LEFT = {
    "nothing": ({}, None),
    "not committed": (
        {"dev": program("python3", "-c", WRITE, "2", cwd=FOLDER)},
        "file",
    ),
    "not merged": (
        {
            "dev": program("python3", "-c", WRITE, "2", cwd=FOLDER),
            "commit": worktree("commit", worktree=FOLDER, message="work"),
        },
        "1 commits that are in no other branch",
    ),
}


@pytest.mark.parametrize("what", LEFT)
def test_what_a_failed_run_leaves_is_named_and_nothing_unmerged_is_lost(world, what):
    """For weeks nobody named these folders and branches, and nothing removed them."""
    steps, holds = LEFT[what]
    stop = program("python3", "-c", "1/0")
    plan = pipeline(clone=worktree("create", name="7"), **steps, stop=stop)
    run = world.begin(plan)
    assert world.do_all(run)["status"] == "failed"
    bridge = Bridge(world.settings, Path(world.store.place.project))
    bridge.store = world.store
    branch, project = f"hostbridge/{run}/7", world.store.place.project

    (seen,) = overview(world.store, world.settings).worktrees
    before = bridge.prune()
    world.advance(run, by_hand.cancel)
    dry = bridge.prune(dry_run=True)
    freed = free(world.store, run)

    assert (seen.run, seen.status, seen.branch) == (run, "failed", branch)
    assert (before.worktrees, before.kept_worktrees) == (0, ())
    assert Path(seen.folder).exists() == bool(holds)
    is_there = branch in git(project, "branch", "--format=%(refname:short)")
    assert is_there == bool(holds)
    if holds is None:
        assert (dry.worktrees, [each.folder for each in freed.removed]) == (
            1, [seen.folder],
        )  # fmt: skip
        assert leftovers(world.store) == []
        return
    assert dry.kept_worktrees == freed.kept == bridge.prune().kept_worktrees
    (kept,) = freed.kept
    assert kept.holds.startswith(f"{seen.folder} holds ")
    assert holds in kept.holds
    for way in kept.ways[2].removeprefix("drop it: ").split(" && "):
        git(project, *shlex.split(way)[1:])
    assert bridge.prune().worktrees == 1
    assert leftovers(world.store) == []


def test_error_one_of_a_run_that_is_resumed_meanwhile(world, monkeypatch):
    run = world.begin(pipeline(clone=worktree("create", name="7")))
    finish(world, run)
    shutil.rmtree(world.store.place.state / "runs" / run)

    def resumed(*_seen, **_more):
        with world.store.state() as state:
            mark(state, run)

    monkeypatch.setattr("bridge.worktrees.in_use.refuse_in_use", resumed)
    (kept,) = free(world.store).kept

    assert kept.holds.endswith(f"its run {run} is not over")
    assert Path(kept.folder).exists()


def ignored_file(_world, folder):
    (folder / "dev.sqlite3").write_text("mine")


def working_there(_world, folder):
    os.chdir(folder)


def on_another_branch(_world, folder):
    git(folder, "switch", "-qc", "mine")


@pytest.mark.parametrize(
    ("use", "holds"),
    [
        (ignored_file, "was written not long ago"),
        (working_there, "is the working folder of the process"),
        (on_another_branch, "is on 'mine', not on"),
    ],
)
def test_error_one_that_somebody_works_in(world, monkeypatch, use, holds):
    """Its run has long ended; what git ignores there is in use all the same."""
    monkeypatch.chdir(world.store.place.project)
    run = world.begin(pipeline(clone=worktree("create", name="7")))
    finish(world, run)
    folder = world.store.place.state / "worktrees" / run / "7"
    exclude = Path(world.store.place.project) / ".git/info/exclude"
    exclude.write_text("*.sqlite3\n")
    shutil.rmtree(world.store.place.state / "runs" / run)
    use(world, folder)

    (kept,) = free(world.store, kept_s=1e10).kept
    assert holds in kept.holds
    assert folder.exists()
    monkeypatch.undo()
    if use is not on_another_branch:
        assert [each.folder for each in free(world.store).removed] == [str(folder)]


def test_a_record_that_somebody_changed_removes_nothing(world):
    """An agent may write beside its folder: it is no word on other branches."""
    run = world.begin(pipeline(clone=worktree("create", name="7")))
    finish(world, run)
    project = world.store.place.project
    git(project, "branch", "other")
    record = world.store.place.state / "worktrees" / run / "7.json"
    text = record.read_text().replace(f"hostbridge/{run}/7", "other")
    record.write_text(text)
    shutil.rmtree(world.store.place.state / "runs" / run)

    (kept,) = free(world.store).kept

    assert kept.holds.endswith("7.json is not as hostbridge wrote it")
    assert "other" in git(project, "branch", "--format=%(refname:short)")
