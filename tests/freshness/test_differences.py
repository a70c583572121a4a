"""Properties: the comparison with what was read finds exactly what differs."""

import glob
import os
import re
import shutil
import tempfile
import time
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from thoroughness import examples

from bridge.freshness.completing import complete
from bridge.freshness.disk import Disk, as_late
from bridge.freshness.looks import Look, is_found, look_of, patterns_of
from bridge.freshness.reads import Reads, differences, reads_of

NAMES = st.sampled_from(["a.py", "b.py", "c.txt", "sub/a.py", "sub/d.txt", "x/y/z.py"])
TEXTS = st.sampled_from(["", "one", "two", "three"])
TREES = st.dictionaries(NAMES, TEXTS, max_size=5)
PATTERNS = st.sampled_from(
    ["", "*", "**/*.py", "*.py", "sub/*", "*.{py,txt}", "[ab].py", "?.txt", "x/**"]
)
LOOKS = st.one_of(
    st.builds(lambda n: ("Read", {"file_path": n}), NAMES),
    st.builds(lambda p: ("Glob", {"pattern": p or "*"}), PATTERNS),
    st.builds(lambda p: ("Grep", {"pattern": "o", "glob": p}), PATTERNS),
    st.builds(lambda p: ("Grep", {"pattern": "o", "path": "sub", "glob": p}), PATTERNS),
    st.just(("Bash", {"command": "ls"})),
)


def lay_out(root: Path, files: dict[str, str]) -> None:
    """Make a folder hold exactly these files, touching only what differs."""
    for path in [p for p in root.rglob("*") if p.is_file()]:
        if str(path.relative_to(root)) not in files:
            path.unlink()
    for folder in sorted((p for p in root.rglob("*") if p.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def seen_by(call: tuple[str, dict[str, str]], files: dict[str, str]) -> object:
    """What an agent can have seen of the files."""
    tool, given = call
    if tool == "Read":
        return files.get(given["file_path"])
    if tool == "Bash":
        folders = {str(p) for name in files for p in Path(name).parents}
        return files, folders
    look = look_of(tool, given, "/p", 0)
    prefix, patterns = f"{look.path}/", patterns_of(look.pattern)
    found = {
        name: text
        for name, text in files.items()
        if f"/p/{name}".startswith(prefix)
        and is_found(patterns, f"/p/{name}".removeprefix(prefix))
    }
    return found if tool == "Grep" else set(found)


def reads_for(calls: list[tuple[str, dict[str, str]]], root: Path) -> Reads:
    later_ms = int(time.time() * 1000) + 1000
    looks = [look_of(tool, given, str(root), later_ms) for tool, given in calls]
    found = complete(filter(None, looks), Disk())
    assert found.doubt == ""
    made = Reads("r", "q", "p", "a", 0, files=found.files, trees=found.trees)
    # As it is kept.
    assert reads_of(made.to_data()) == made
    return made


@settings(max_examples=examples(150))
@given(before=TREES, after=TREES, calls=st.lists(LOOKS, min_size=1, max_size=3))
def test_an_answer_holds_exactly_while_what_was_seen_is_the_same(before, after, calls):
    """Both ways: nothing that changed is missed, nothing else asks again."""
    folder = tempfile.mkdtemp()
    try:
        root = Path(folder).resolve()
        lay_out(root, before)
        reads = reads_for(calls, root)
        assert list(differences(reads, Disk())) == []

        lay_out(root, after)

        differs = any(seen_by(c, before) != seen_by(c, after) for c in calls)
        assert bool(list(differences(reads, Disk()))) == differs
    finally:
        shutil.rmtree(folder)


@given(st.text(max_size=40))
def test_no_pattern_makes_a_look_smaller_than_the_search(pattern):
    """What is not understood stands for every file: the answer holds too seldom."""
    patterns = patterns_of(pattern)

    assert len(patterns) <= 16
    if not patterns:
        assert is_found(patterns, "any/file.py")


@given(st.text(alphabet="{},*ab/", max_size=60))
def test_braces_are_understood_or_stand_for_every_file(pattern):
    for one in patterns_of(pattern):
        assert not set(one) & set("{},")


def test_a_pattern_with_many_braces_is_cheap():
    assert patterns_of("{a,b}" * 200) == ()
    assert patterns_of("*" * 300) == ()
    assert patterns_of("*a" * 400 + ".py") == ()


PARTS = st.sampled_from(
    [
        *("*", "**", "a", "x.py", "*.py", "?", "[ab]", ".", "..", "", "~", "{.,a}"),
        *("{..,a}", "{/etc,a}", "{~,a}", "{a,x.py}", "{,a}", "{a,{b,..}}", "{.,x}."),
    ]
)
SEARCHES = st.one_of(
    st.builds("/".join, st.lists(PARTS, min_size=1, max_size=4)),
    st.text(alphabet="{},./~a*", max_size=12),
)


def alternatives(pattern: str) -> list[str]:
    """What a shell makes of braces, innermost first."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    head, tail = pattern[: found.start()], pattern[found.end() :]
    return [p for one in found[1].split(",") for p in alternatives(head + one + tail)]


@settings(max_examples=examples(300))
@example("**/*/*")
@example("x.py/**/**")
@given(SEARCHES)
def test_a_search_finds_nothing_outside_of_what_it_rests_on(pattern):
    """Whatever any tool could take the pattern for: one that may leave is a doubt."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        lay_out(
            root, {"x.py": "", "a/x.py": "", "a/b/x.py": "", "a/a/a": "", "b/c": ""}
        )
        look = look_of("Glob", {"pattern": pattern}, str(root), 0)
        if look.kind == "outside" or not look.path.startswith(str(root)):
            # Below another root, all that it finds there counts.
            assert look.kind == "outside" or pattern.startswith("/")
            return
        within = Disk().walk(look.path, patterns_of(look.pattern), is_all=False).found
        for each in alternatives(pattern):
            if os.path.isabs(each):
                # Only of what is absolute as a whole, its own root is looked at.
                assert pattern.startswith("/")
                continue
            assert ".." not in each.split("/")
            assert not each.startswith("~")
            for name in globbed(each, root):
                assert name in within, each


def globbed(pattern: str, root: Path) -> set[str]:
    """The files that any of two common readings of a pattern finds."""
    found = set(glob.glob(pattern, root_dir=root, recursive=True, include_hidden=True))
    if "/" not in pattern:
        found |= {
            str(path.relative_to(root))
            for path in root.rglob("*")
            if fnmatch(path.name, pattern)
        }
    return {os.path.normpath(name) for name in found if (root / name).is_file()}


PATHS = ["~/notes", "~", " src/a.py", "src/a.py\n", "u\u0308.txt"]


@pytest.mark.parametrize("path", PATHS, ids=ascii)
@pytest.mark.parametrize(
    ("tool", "argument"), [("Read", "file_path"), ("Grep", "path"), ("Glob", "path")]
)
def test_a_path_that_the_client_takes_for_another_is_a_doubt(tool, argument, path):
    """What is at the path as it is written says nothing of what the agent saw."""
    given = {"pattern": "*", argument: path}

    look = look_of(tool, given, "/project", 0)

    assert (look.kind, look.path) == ("outside", tool)


def test_what_changes_in_the_tick_of_a_look_is_not_believed(tmp_path):
    """The kernel's clock of files goes on in steps: two writes can have one time."""
    file = tmp_path / "a"
    file.write_text("one")
    at_ms = os.stat(file).st_ctime_ns // 1_000_000

    found = complete([Look("file", str(file), "", at_ms)], Disk())

    assert (found.doubt, found.detail) == ("meanwhile", str(file))


def test_a_file_system_of_whole_seconds_is_not_believed_so_soon():
    assert as_late(5_000_000_000) == 7_000_000_000
    assert as_late(5_000_000_001) == 5_000_000_001


def doubt_of_all(folder: Path, disk: Disk) -> tuple[str, str]:
    """Why it cannot be said what all files of a folder hold."""
    look = Look("contents", str(folder), "", int(time.time() * 1000) + 1000)
    found = complete([look], disk)
    return found.doubt, found.detail


def test_too_many_files_are_no_read_set(tmp_path, monkeypatch):
    monkeypatch.setattr("bridge.freshness.disk.MAX_FILES", 10)
    for number in range(11):
        (tmp_path / f"{number}.py").write_text("")

    why = f"{tmp_path}: more than 10 files"
    assert doubt_of_all(tmp_path, Disk()) == ("unknowable", why)


def test_no_time_left_is_no_read_set(tmp_path):
    """A hook ends in bounded time, however large the project is."""
    (tmp_path / "a.py").write_text("one")

    disk = Disk(until_s=time.monotonic() - 1)
    assert doubt_of_all(tmp_path, disk) == ("unknowable", "it took too long to read")


def test_a_name_that_is_no_text_is_no_read_set(tmp_path):
    (tmp_path / os.fsdecode(b"\xff.py")).write_text("")

    doubt, detail = doubt_of_all(tmp_path, Disk())

    assert doubt == "unknowable"
    assert detail.endswith("its name is no text")
