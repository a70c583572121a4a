"""`answers.lock`: what a clone can check, without a model and without any record."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from cachedworld import GLOBS, GREPS, READS, RUNS
from gitworld import Repository
from hypothesis import given
from hypothesis import strategies as st
from runworld import call

from bridge import InvalidRequest
from bridge.agents import trust
from bridge.agents.load import load
from bridge.api.answer_lock import check_lock
from bridge.api.bridge import Bridge
from bridge.freshness.lock_file import HEAD, Item, LockedAnswer, parsed, written

if TYPE_CHECKING:
    from pathlib import Path

    from cachedworld import CachedWorld

DIGEST = "ab" * 32


@pytest.fixture
def locked(world: CachedWorld) -> CachedWorld:
    """One answer that rests on Read, Glob, Grep and Bash each."""
    world.write("src/a.py")
    world.write("src/notes.txt")
    for prompt, calls in {"R": READS, "G": GLOBS, "S": GREPS, "B": RUNS}.items():
        world.answer(calls, prompt=prompt)
    return world


def lock(world: CachedWorld) -> Path:
    return world.project / "answers.lock"


def clone(world: CachedWorld, folder: Path) -> Bridge:
    """A checkout elsewhere, on a machine where nothing was ever asked."""
    shutil.copytree(world.project, folder, symlinks=True)
    settings = world.bridge.settings.with_(home=folder.parent / "fresh home")
    return Bridge(settings, folder)


def states(bridge: Bridge, folder: Path) -> dict[str, str]:
    found = bridge.check_lock(folder / "answers.lock")
    return {each.asked: each.state for each in found}


def test_a_clone_checks_what_the_answers_rest_on(locked, tmp_path):
    """The lock itself counts for nobody, not even for what commands can tell."""
    count, left_out = locked.bridge.write_lock(lock(locked))
    bridge = clone(locked, tmp_path / "clone")

    assert (count, left_out) == (4, [])
    assert states(bridge, tmp_path / "clone") == dict.fromkeys("RGSB", "fresh")
    assert not bridge.store.exists()
    assert {each.state for each in locked.bridge.stale()} == {"fresh"}


CHANGES = {
    "change": (lambda p: (p / "src/a.py").write_text("two\n"), "RSB"),
    "add": (lambda p: (p / "src/new.py").write_text("two\n"), "GSB"),
    "remove": (lambda p: (p / "src/a.py").unlink(), "RGSB"),
    "touch": (lambda p: os.utime(p / "src/a.py"), ""),
    "other": (lambda p: (p / "src/notes.txt").write_text("two\n"), "B"),
    "link": (
        lambda p: (
            (p / "src/a.py").rename(p / "copy"),
            (p / "src/a.py").symlink_to(p / "copy"),
        ),
        "RSB",
    ),
    "pipe": (
        lambda p: ((p / "src/a.py").unlink(), os.mkfifo(p / "src/a.py")),
        "RGSB",
    ),
    "folder": (
        lambda p: (
            shutil.move(p / "src", p / "elsewhere"),
            (p / "src").symlink_to(p / "elsewhere"),
        ),
        "RGSB",
    ),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_change_makes_stale_what_rests_on_it_and_no_other(locked, how):
    locked.bridge.write_lock(lock(locked))
    act, expected = CHANGES[how]

    act(locked.project)

    found = states(locked.bridge, locked.project)
    assert {asked for asked, state in found.items() if state == "stale"} == set(
        expected
    )


def test_the_text_is_sorted_and_the_same_whenever_it_is_written(locked):
    locked.bridge.write_lock(lock(locked), [locked.bridge.stale()[0].request_id])
    text = lock(locked).read_text()

    assert text.splitlines()[0] == HEAD
    (answer,) = parsed(text, "answers.lock")
    assert answer.asked == "R"
    assert [(item.kind, item.path) for item in answer.items] == [
        ("absent", ".bridge/rules.yaml"),
        ("file", "src/a.py"),
        ("names", ".bridge/rules"),
    ]
    assert written([answer], "answers.lock") == text


def test_a_stale_answer_is_not_locked(locked):
    first = locked.bridge.stale()[0]
    locked.write("src/a.py", "two\n")

    with pytest.raises(InvalidRequest) as caught:
        locked.bridge.write_lock(lock(locked), [first.request_id])
    count, left_out = locked.bridge.write_lock(lock(locked))

    assert str(caught.value) == (
        f"the answer of request {first.request_id} cannot be locked: "
        "changed: src/a.py; nothing was written"
    )
    assert count == 1
    assert {each.asked for each in left_out} == set("RSB")


def test_what_a_clone_has_not_got_is_not_locked(world, tmp_path):
    """A file outside of the project, say, that the agent has read."""
    other = tmp_path / "other.txt"
    other.write_text("one")
    world.answer(call("read_file", path=str(other)))

    with pytest.raises(InvalidRequest) as caught:
        world.bridge.write_lock(lock(world))

    assert caught.value.what.endswith(
        f": unknown: it rests on {other}, which is not in the project"
    )


def test_another_file_is_not_replaced(locked):
    locked.write("answers.lock", "mine\n")

    with pytest.raises(InvalidRequest, match="is there already"):
        locked.bridge.write_lock(lock(locked))

    assert lock(locked).read_text() == "mine\n"


GOOD = f"""{HEAD}

answer {DIGEST}
  agent "checker"
  asked "Look."
  file {DIGEST} "src/a.py"
"""
ERRORS = {
    "head": ("something else\n", 1, "expected 'hostbridge answers 1'"),
    "newer": ("hostbridge answers 2\n", 1, "expected 'hostbridge answers 1'"),
    "no answer": (f'{HEAD}\n  agent "x"\n', 2, "expected `answer` and the SHA-256"),
    "short digest": (f"{HEAD}\nanswer ab\n", 2, "expected the SHA-256 of a question"),
    "unknown word": (GOOD + '  files "x"\n', 7, "expected one of agent, asked"),
    "no name": (GOOD + f"  file {DIGEST}\n", 7, "`file`: expected a SHA-256 and a"),
    "no digest": (GOOD + '  file "x"\n', 7, "`file`: expected a SHA-256 and a name"),
    "two names": (GOOD + f'  file {DIGEST} "a" "b"\n', 7, "`file`: expected 1 names"),
    "escape": (GOOD + f'  file {DIGEST} "\\q"\n', 7, "'\"\\\\q\"' is no JSON string"),
    "up": (GOOD + f'  file {DIGEST} "../x"\n', 7, "'../x' is no plain path"),
    "inside up": (GOOD + f'  file {DIGEST} "a/../../x"\n', 7, "is no plain path"),
    "absolute": (GOOD + f'  file {DIGEST} "/etc/passwd"\n', 7, "is no plain path"),
    "git": (GOOD + f'  file {DIGEST} ".git/config"\n', 7, "is no plain path"),
    "no path": (GOOD + f'  file {DIGEST} ""\n', 7, "'' is no plain path"),
    "nul": (GOOD + f'  file {DIGEST} "a\\u0000"\n', 7, "is no plain path"),
    "surrogate": (GOOD + f'  file {DIGEST} "\\ud800"\n', 7, "half of a surrogate"),
    "pattern up": (GOOD + f'  names {DIGEST} "." "../*"\n', 7, "is no pattern"),
    "slow pattern": (
        GOOD + f'  names {DIGEST} "." "{"*a" * 40}"\n', 7, "is no pattern of files",
    ),
    "many patterns": (
        GOOD + f'  names {DIGEST} "."' + ' "x"' * 30 + "\n", 7, "`names`: expected 17",
    ),
    "tab": (GOOD + f'\tfile {DIGEST} "x"\n', 7, "`file`: expected a SHA-256"),
    "conflict": (GOOD + "<<<<<<< HEAD\n", 7, "the mark of a merge that was not"),
    "its middle": (f"{HEAD}\n=======\n", 2, "the mark of a merge that was not"),
    "line ends": (
        GOOD.replace("\n", "\r\n"), 1, r"got 'hostbridge answers 1\r'",
    ),
    "escape codes": (
        GOOD + f'  file {DIGEST} "\\u001b[2J/../x"\n',
        7,
        r"'\x1b[2J/../x' is no plain",
    ),
    "raw escape codes": (
        GOOD + f'  file {DIGEST} "\x1b[2J"\n', 7, r"""'"\x1b[2J"' is no JSON string""",
    ),
    "nothing": ("", 1, "expected 'hostbridge answers 1', got ''"),
    "braces": (
        GOOD + f'  names {DIGEST} "src" "{{.,x}}/*"\n', 7, "is no pattern of files",
    ),
    "absolute pattern": (
        GOOD + f'  names {DIGEST} "." "/etc/*"\n', 7, "is no pattern of files",
    ),
    "pattern for itself": (
        GOOD + f'  names {DIGEST} "src" "./*"\n', 7, "is no pattern of files",
    ),
    "home": (GOOD + f'  names {DIGEST} "." "~/*"\n', 7, "is no pattern of files"),
    "pattern and up": (
        GOOD + f'  names {DIGEST} "." "**/../.."\n', 7, "is no pattern of files",
    ),
    "tree up": (GOOD + f'  tree {DIGEST} ".."\n', 7, "'..' is no plain path"),
    "tree of all": (GOOD + f'  tree {DIGEST} "/"\n', 7, "'/' is no plain path"),
    "two agents": (GOOD + '  agent "y"\n', 7, "`agent` stands there twice"),
    "two answers": (f"{GOOD}answer {DIGEST}\n", 7, "has an answer above"),
    "nobody": (f"{HEAD}\nanswer {DIGEST}\n", 3, "the answer above has no `agent`"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_error_names_the_line(name):
    """The file may come with a branch of anybody's."""
    text, line, says = ERRORS[name]
    assert parsed(GOOD, "answers.lock")

    with pytest.raises(InvalidRequest) as caught:
        parsed(text, "answers.lock")

    assert str(caught.value).startswith(f"answers.lock:{line}: ")
    assert says in str(caught.value)


@given(st.text(max_size=200))
def test_error_or_answers_for_any_text(text):
    """Never anything else, such as an exception without a line."""
    for start in ("", HEAD + "\n", GOOD):
        with suppress(InvalidRequest):
            assert all(map(is_answer, parsed(start + text, "f")))


def is_answer(found: object) -> bool:
    return isinstance(found, LockedAnswer) and bool(found.agent)


NAMES = st.text(min_size=1, max_size=20).filter(
    lambda s: not {"", ".", "..", ".git"} & set(s.lower().split("/")) and "\0" not in s
)


@given(st.lists(NAMES, max_size=5), st.text(min_size=1, max_size=20))
def test_what_is_written_is_read_as_it_was(names, agent):
    items = tuple(sorted({Item("file", name, DIGEST) for name in names}))
    answer = LockedAnswer(DIGEST, agent, "Look.", items, ("user", DIGEST))

    assert parsed(written([answer], "x"), "x") == [answer]


def test_a_lock_that_is_a_link_or_a_pipe_is_not_followed(locked, tmp_path):
    other = tmp_path / "other"
    other.write_text(GOOD)
    lock(locked).symlink_to(other)

    with pytest.raises(InvalidRequest, match=r"answers\.lock: "):
        locked.bridge.check_lock(lock(locked))


def test_a_project_that_is_too_deep_for_a_lock_is_an_error(tmp_path):
    """As one from an archive may be; never a traceback."""
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(80):
        os.mkdir("d", dir_fd=folder)
        above, folder = folder, os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(above)
    os.close(folder)
    file = tmp_path / "answers.lock"
    file.write_text(GOOD + f'  names {DIGEST} "."\n')

    with pytest.raises(InvalidRequest, match="folders deep"):
        check_lock(tmp_path, file)


def test_a_link_in_a_clone_does_not_lead_out_of_it(locked, tmp_path):
    """What it leads to is neither read nor told apart."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.py").write_text("one\n")
    locked.bridge.write_lock(lock(locked))
    shutil.rmtree(locked.project / "src")
    (locked.project / "src").symlink_to(secret)

    found = {e.asked: e.reasons for e in locked.bridge.check_lock(lock(locked))}

    assert [tuple(r) for r in found["R"]] == [("removed", "src/a.py")]


def test_in_a_repository_only_what_git_knows_counts(world, tmp_path):
    """A clone has nothing else; what is ignored here may be anything there."""
    repository = Repository(world.project, is_empty=True)
    world.write("src/a.py")
    world.write(".gitignore", "*.env\n")
    repository.commit("first")
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


def test_a_file_that_git_does_not_know_is_not_locked(world):
    repository = Repository(world.project, is_empty=True)
    world.write("src/a.py")
    repository.commit("first")
    world.write("src/new.py")
    world.answer(call("read_file", path="src/new.py"))

    with pytest.raises(InvalidRequest) as caught:
        world.bridge.write_lock(lock(world))

    assert caught.value.what.endswith(
        "it rests on src/new.py, which git does not know: a clone lacks it"
    )


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

    with pytest.raises(InvalidRequest) as caught:
        locked.bridge.write_lock(lock(locked))

    first, *reasons = caught.value.what.splitlines()
    assert first == f"no answer can be locked; {lock(locked)} was not written"
    assert len(reasons) >= 4
    assert any(line.endswith("removed: src/a.py") for line in reasons)
    assert lock(locked).read_text() == before


def test_without_any_answer_there_is_nothing_to_lock(world):
    with pytest.raises(InvalidRequest) as caught:
        world.bridge.write_lock(lock(world))

    assert (
        caught.value.what == f"no answer can be locked; {lock(world)} was not written"
    )
    assert not lock(world).exists()


SEARCHES = {"Glob": ("list_files", {}), "Grep": ("search_text", {"text": "one"})}


@pytest.mark.parametrize("tool", SEARCHES)
def test_a_file_that_was_found_and_is_not_added_is_not_left_out(world, tool):
    """Without a word, CI would check another list than the agent saw."""
    repository = Repository(world.project, is_empty=True)
    world.write("src/a.py")
    world.write(".gitignore", "*.env\n")
    repository.commit("first")
    world.write("src/new.py")
    world.write("src/local.env")
    name, arguments = SEARCHES[tool]
    world.answer(call(name, folder="src", pattern="*", **arguments), prompt="all")

    with pytest.raises(InvalidRequest) as caught:
        world.bridge.write_lock(lock(world))
    assert caught.value.what.endswith(
        "it rests on src/new.py, which git does not know: a clone lacks it"
    )
    repository.git("add", "src/new.py")

    # What git ignores is no part of the list.
    assert world.bridge.write_lock(lock(world))[0] == 1
    assert states(world.bridge, world.project) == {"all": "fresh"}


def test_what_is_the_users_own_is_not_in_the_lock(world):
    """CI has no rules of the user's, and no memory."""
    world.write("src/a.py")
    (world.bridge.settings.home / "rules.yaml").write_text("PreToolUse: []\n")
    world.answer(READS)

    world.bridge.write_lock(lock(world))

    assert str(world.bridge.settings.home) not in lock(world).read_text()
    assert states(world.bridge, world.project) == {"Look.": "fresh"}


class Walks:
    """How many folders are opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._scandir = os.scandir
        self.count = 0
        monkeypatch.setattr(os, "scandir", self)

    def __call__(self, *args: int) -> object:
        self.count += 1
        return self._scandir(*args)


def test_however_many_lists_a_lock_asks_for_each_folder_is_listed_once(
    tmp_path, monkeypatch
):
    """It comes with anybody's change, and CI checks it."""
    for number in range(50):
        (tmp_path / f"f{number}").mkdir()
        (tmp_path / f"f{number}/a.py").write_text("one\n")
    lines = [f'  names {DIGEST} "." "*.x{n}"' for n in range(300)]
    lines += [f'  tree {DIGEST} "f{n % 50}"' for n in range(300)]
    file = tmp_path / "answers.lock"
    file.write_text("\n".join([GOOD.rstrip(), *lines, ""]))
    walks = Walks(monkeypatch)

    (found,) = check_lock(tmp_path, file)

    assert found.state == "stale"
    assert walks.count == 51


BOUNDS = {
    "files": "the folders in this lock have more than",
    "bytes": "the files in this lock have more than",
    "steps": "the patterns in this lock take too long",
}


@pytest.mark.parametrize("what", BOUNDS)
def test_error_a_lock_that_asks_for_too_much(tmp_path, monkeypatch, what):
    """The bounds are for all of a lock together; here they are smaller."""
    from bridge.freshness import locked as checked

    for number in range(30):
        (tmp_path / f"{number}.py").write_text("one\n" * 100)
    each = "names" if what == "steps" else "file"
    lines = [f'  {each} {DIGEST} "{n}.py"' for n in range(30)]
    if what != "bytes":
        lines = [f'  names {DIGEST} "." "{n}*?*.py"' for n in range(30)]
    (tmp_path / "answers.lock").write_text("\n".join([GOOD.rstrip(), *lines, ""]))
    small = {"files": ("MAX_WALKED", 20), "bytes": ("MAX_BYTES", 5_000)}
    monkeypatch.setattr(checked, *small.get(what, ("_MAX_STEPS", 1_000)))

    with pytest.raises(InvalidRequest, match=BOUNDS[what]):
        check_lock(tmp_path, tmp_path / "answers.lock")


def test_a_lock_cannot_make_the_check_wait_or_read_elsewhere(tmp_path):
    """What a branch may put at the paths that it names."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "etc").symlink_to("/etc")
    (tmp_path / "loop").symlink_to("loop")
    names = ["pipe", "zero", "etc/passwd", "loop", "loop/x", "zero/x", "src/a.py"]
    lines = [f'  file {DIGEST} "{name}"' for name in names]
    lines += [f'  {k} {DIGEST} "{n}"' for n in names for k in ("names", "tree", "link")]
    file = tmp_path / "answers.lock"
    file.write_text("\n".join([GOOD.rstrip(), *lines, ""]))

    (found,) = check_lock(tmp_path, file)

    differing = {(reason.what, reason.about) for reason in found.reasons}
    assert {("changed", "pipe"), ("removed", "etc/passwd")} <= differing
    assert ("names", "etc") not in differing


def test_a_large_lock_is_read_in_one_go(tmp_path):
    """As large as a lock may be: an error or an answer, and no time for a coffee."""
    lines = [f'  absent "{number}.py"' for number in range(199_000)]
    file = tmp_path / "answers.lock"
    file.write_text(
        "\n".join([HEAD, f"answer {DIGEST}", *GOOD.splitlines()[3:5], *lines])
    )

    (found,) = check_lock(tmp_path, file)
    assert found.state == "fresh"
    file.write_text(file.read_text() + "\n#" * 2_000)

    with pytest.raises(InvalidRequest, match="more than 200,000 lines"):
        check_lock(tmp_path, file)
