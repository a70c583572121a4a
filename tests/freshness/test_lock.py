"""`answers.lock`: what a clone can check, without a model and without any record."""

import os
import shutil

import pytest
from cachedworld import READS, RUNS
from gitworld import Repository
from lockworld import GOOD, clone, lock, states
from runworld import call

from bridge import InvalidRequest
from bridge.agents import trust
from bridge.agents.load import load
from bridge.api.bridge import Bridge
from bridge.freshness.lock_file import MARKS, parsed, written

pytestmark = pytest.mark.slow


def test_a_clone_checks_what_the_answers_rest_on(locked, tmp_path):
    """The lock itself counts for nobody, not even for what commands can tell."""
    count, left_out = locked.bridge.write_lock(lock(locked))
    bridge = clone(locked, tmp_path / "clone")

    assert (count, left_out) == (4, [])
    assert states(bridge, tmp_path / "clone") == dict.fromkeys("RGSB", "fresh")
    assert not bridge.store.exists()
    assert {each.state for each in locked.bridge.stale()} == {"fresh"}


def link_the_file(project):
    (project / "src/a.py").rename(project / "copy")
    (project / "src/a.py").symlink_to(project / "copy")


def make_a_pipe(project):
    (project / "src/a.py").unlink()
    os.mkfifo(project / "src/a.py")


def link_the_folder(project):
    shutil.move(project / "src", project / "elsewhere")
    (project / "src").symlink_to(project / "elsewhere")


CHANGES = {
    "change": (lambda p: (p / "src/a.py").write_text("two\n"), "RSB"),
    "add": (lambda p: (p / "src/new.py").write_text("two\n"), "GSB"),
    "remove": (lambda p: (p / "src/a.py").unlink(), "RGSB"),
    "touch": (lambda p: os.utime(p / "src/a.py"), ""),
    "other": (lambda p: (p / "src/notes.txt").write_text("two\n"), "B"),
    "link": (link_the_file, "RSB"),
    "pipe": (make_a_pipe, "RGSB"),
    "folder": (link_the_folder, "RGSB"),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_change_makes_stale_what_rests_on_it_and_no_other(locked, how):
    locked.bridge.write_lock(lock(locked))
    act, expected = CHANGES[how]

    act(locked.project)

    found = states(locked.bridge, locked.project)
    assert {each for each in found if found[each] == "stale"} == {*expected}


def test_the_text_is_sorted_and_the_same_whenever_it_is_written(locked):
    locked.bridge.write_lock(lock(locked), [locked.bridge.stale()[0].request_id])
    text = lock(locked).read_text()

    assert text.startswith(MARKS[0])
    (answer,) = parsed(text, "answers.lock")
    assert answer.asked == "R"
    assert [(item.kind, item.path) for item in answer.items] == [
        ("absent", ".bridge/rules.yaml"),
        ("file", "src/a.py"),
        ("names", ".bridge/rules"),
    ]
    assert written([answer], "answers.lock") == text


def refusal(world, *requests):
    """Why no lock is written."""
    with pytest.raises(InvalidRequest) as caught:
        world.bridge.write_lock(lock(world), *requests)
    return caught.value.what


UNKNOWN = "which git does not know: a clone lacks it"


def test_a_stale_answer_is_not_locked(locked):
    first = locked.bridge.stale()[0].request_id
    locked.write("src/a.py", "two\n")

    refused = refusal(locked, [first])
    count, left_out = locked.bridge.write_lock(lock(locked))

    assert refused == (
        f"the answer of request {first} cannot be locked: changed: src/a.py; nothing "
        "was written"
    )
    assert (count, {each.asked for each in left_out}) == (1, set("RSB"))


def test_what_a_clone_has_not_got_is_not_locked(world, tmp_path):
    """A file outside of the project, say, that the agent has read."""
    other = tmp_path / "other.txt"
    other.write_text("one")
    world.answer(call("read_file", path=str(other)))

    why = f": unknown: it rests on {other}, which is not in the project"
    assert refusal(world).endswith(why)


def test_what_lies_in_a_submodule_is_not_locked(world, tmp_path):
    """Another repository knows it: its commit could change unseen."""
    source = Repository(tmp_path / "source")
    above = Repository(world.project, is_empty=True)
    file = ("-c", "protocol.file.allow=always")
    above.git(*file, "submodule", "--quiet", "add", str(source.folder), "sub")
    name = next(f"sub/{n}" for n in sorted(os.listdir(source.folder)) if n[0] != ".")
    world.answer(call("read_file", path=name))
    assert refusal(world).endswith(f"it rests on {name}, {UNKNOWN}")

    world.answer(RUNS)

    assert UNKNOWN in refusal(world)


def test_an_answer_that_names_nothing_does_not_hold(world):
    """As of a lock that a merge has cut: CI would be green for ever."""
    file = lock(world)
    file.write_text("\n".join(GOOD.splitlines()[:-1]) + "\n")

    (found,) = world.bridge.check_lock(file)

    what = ("unknown", "the lock names nothing that it rests on")
    assert (found.state, [*map(tuple, found.reasons)]) == ("unknown", [what])


def test_another_file_is_not_replaced(locked):
    locked.write("answers.lock", "mine\n")

    assert "is there already" in refusal(locked)
    assert lock(locked).read_text() == "mine\n"


@pytest.fixture
def repository(world):
    """The project under git: `src/a.py` is known, and what ends in .env is ignored."""
    found = Repository(world.project, is_empty=True)
    world.write("src/a.py")
    world.write(".gitignore", "*.env\n")
    found.commit("first")
    return found


def test_in_a_repository_only_what_git_knows_counts(world, repository, tmp_path):
    """A clone has nothing else; what is ignored here may be anything there."""
    world.write("local.env")
    world.answer(RUNS, prompt="B")
    world.answer(call("read_file", path="src/a.py"), prompt="R")
    world.answer(call("list_files", pattern="*.py"), prompt="G")
    count, left_out = world.bridge.write_lock(lock(world))
    repository.git("add", "-f", "answers.lock")
    repository.git("commit", "-qm", "locked")
    repository.git("clone", "-q", ".", str(tmp_path / "clone"))
    bridge = Bridge(world.bridge.settings, tmp_path / "clone")

    assert (count, left_out) == (3, [])
    fresh = dict.fromkeys("RGB", "fresh")
    assert states(bridge, tmp_path / "clone") == fresh
    (tmp_path / "clone/built.env").write_text("one\n")
    assert states(bridge, tmp_path / "clone") == fresh


@pytest.mark.parametrize("has_commit", [True, False], ids=["git", "no commit"])
def test_what_install_writes_is_no_part_of_any_answer(
    world, request, tmp_path, has_commit
):
    """A clone has no settings of one machine, and the client changes them by itself."""
    if has_commit:
        request.getfixturevalue("repository")
    world.write("src/a.py")
    world.write(".claude/settings.local.json", "{}\n")
    world.answer(RUNS, prompt="B")
    world.answer(call("list_files", pattern="**/*"), prompt="G")

    count, left_out = world.bridge.write_lock(lock(world))
    world.write(".claude/settings.local.json", '{"permissions": {}}\n')

    assert (count, left_out) == (2, [])
    assert world.reasons() == []
    there = tmp_path / "there"
    bridge = clone(world, there)
    (there / ".claude/settings.local.json").unlink()
    assert states(bridge, there) == dict.fromkeys("BG", "fresh")


@pytest.mark.usefixtures("repository")
def test_a_file_that_git_does_not_know_is_not_locked(world):
    world.write("src/new.py")
    world.answer(call("read_file", path="src/new.py"))

    assert refusal(world).endswith(f"it rests on src/new.py, {UNKNOWN}")


def test_the_files_of_a_projects_definition_are_in_the_lock(world):
    """CI cannot ask anybody whether they are trusted, and reads none of them."""
    world.write(".bridge/agents/mine.yaml", MINE)
    definition = load(world.project / ".bridge/agents/mine.yaml", "project")
    trust.record(world.bridge.settings, world.project, [definition], clients=())
    world.write("src/a.py")
    world.answer(READS, agent="mine")
    world.bridge.write_lock(lock(world))
    assert states(world.bridge, world.project) == {"Look.": "fresh"}

    world.write(".bridge/agents/mine.yaml", f"{MINE}# more\n")

    (found,) = world.bridge.check_lock(lock(world))
    assert [tuple(each) for each in found.reasons] == [
        ("changed", ".bridge/agents/mine.yaml")
    ]


MINE = "name: mine\nroutes: [endpoint]\nprompt: '{{ task }}'\n"


def test_nothing_to_lock_is_an_error_and_leaves_an_earlier_lock(locked):
    """CI would go on to say that all of nothing is fresh."""
    locked.bridge.write_lock(lock(locked))
    before = lock(locked).read_text()
    for file in (locked.project / "src").iterdir():
        file.unlink()

    first, *reasons = refusal(locked).splitlines()

    assert first == f"no answer can be locked; {lock(locked)} was not written"
    assert len(reasons) >= 4
    assert any(line.endswith("removed: src/a.py") for line in reasons)
    assert lock(locked).read_text() == before


def test_without_any_answer_there_is_nothing_to_lock(world):
    nothing = f"no answer can be locked; {lock(world)} was not written"
    assert refusal(world) == nothing
    assert not lock(world).exists()


SEARCHES = {"Glob": ("list_files", {}), "Grep": ("search_text", {"text": "one"})}


@pytest.mark.parametrize("tool", SEARCHES)
def test_a_file_that_was_found_and_not_added_is_not_left_out(world, repository, tool):
    """Without a word, CI would check another list than the agent saw."""
    world.write("src/new.py")
    world.write("src/local.env")
    name, arguments = SEARCHES[tool]
    world.answer(call(name, folder="src", pattern="*", **arguments), prompt="all")

    assert refusal(world).endswith(f"it rests on src/new.py, {UNKNOWN}")
    repository.git("add", "src/new.py")

    # What git ignores is no part of the list.
    assert world.bridge.write_lock(lock(world))[0] == 1
    assert states(world.bridge, world.project) == {"all": "fresh"}


def test_what_was_read_through_a_link_is_in_the_lock(world):
    """Where it leads, and what is there: an earlier lock had the first alone."""
    world.write("v1/a.py")
    world.write("v2/a.py")
    (world.project / "now.py").symlink_to("v1/a.py")
    looks = call("read_file", path="now.py")
    world.answer(looks)
    world.bridge.write_lock(lock(world))
    assert states(world.bridge, world.project) == {"Look.": "fresh"}

    world.write("v1/a.py", "two\n")

    (found,) = world.bridge.check_lock(lock(world))
    assert [tuple(each) for each in found.reasons] == [("changed", "v1/a.py")]
    world.write("v1/a.py")
    (world.project / "now.py").unlink()
    (world.project / "now.py").symlink_to("v2/a.py")
    assert states(world.bridge, world.project) == {"Look.": "stale"}


def test_what_a_search_found_behind_a_link_is_in_the_lock(world):
    world.write("v1/a.py")
    (world.project / "now").symlink_to("v1")
    world.answer(call("search_text", text="one", folder="now"))
    world.bridge.write_lock(lock(world))
    assert states(world.bridge, world.project) == {"Look.": "fresh"}

    world.write("v1/b.py")

    assert states(world.bridge, world.project) == {"Look.": "stale"}


BEHIND = {
    "a folder": ("now/a.py", "v1", "which is behind a link to a folder"),
    "outside": ("now", "../other.py", "which is not in the project"),
}


@pytest.mark.parametrize("name", BEHIND)
def test_a_link_that_no_lock_can_tell_of_refuses_its_answer(world, name, tmp_path):
    path, target, why = BEHIND[name]
    world.write("v1/a.py")
    (tmp_path / "other.py").write_text("one\n")
    (world.project / "now").symlink_to(target)
    # As an agent of a session may; our own loop reads nothing outside.
    world.answer(call("read_file", path=path))

    assert refusal(world).endswith(why)


NO_CLONE = {
    "a repository inside": call("read_file", path="vendor/.git/HEAD"),
    "what tools made": call("list_files", pattern="**/node_modules/**"),
}


@pytest.mark.parametrize("name", NO_CLONE)
def test_what_no_clone_has_is_not_locked(world, name):
    """Not even that it is not there: no lock could be read that says so."""
    world.answer(NO_CLONE[name])

    assert refusal(world).endswith(UNKNOWN)


def test_what_is_the_users_own_is_not_in_the_lock(world):
    """CI has no rules of the user's, and no memory."""
    world.write("src/a.py")
    (world.bridge.settings.home / "rules.yaml").write_text("PreToolUse: []\n")
    world.answer(READS)

    world.bridge.write_lock(lock(world))

    assert str(world.bridge.settings.home) not in lock(world).read_text()
    assert states(world.bridge, world.project) == {"Look.": "fresh"}
