"""A project is read and not left; its secrets stay where they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.agent_loop.file_tools import (
    MAX_MATCHES,
    MAX_PATHS,
    MAX_TEXT_BYTES,
    Reader,
    reading_tools,
)
from bridge.agent_loop.workspace import LeftOff, Project, Refused

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "src/deep").mkdir(parents=True)
    (made / "src/app.py").write_text("import os\nprint('héllo')\n")
    (made / "src/deep/b.py").write_text("x = 1\n")
    (made / "notes.md").write_text("# Notes\n")
    (tmp_path / "outside.txt").write_text("outside")
    return made


@pytest.fixture
def reader(folder: Path) -> Reader:
    return Reader(Project(folder))


def refusal(act, *args) -> str:
    with pytest.raises(Refused) as caught:
        act(*args)
    return str(caught.value)


def test_reads_lists_and_searches(reader):
    assert reader.read_file("src/app.py") == "import os\nprint('héllo')"
    assert reader.list_files() == ["notes.md", "src/app.py", "src/deep/b.py"]
    assert reader.list_files("src", "*.py") == ["src/app.py", "src/deep/b.py"]
    assert reader.list_files(".", "src/**/*.py") == ["src/app.py", "src/deep/b.py"]
    assert reader.search_text("héllo") == ["src/app.py:2: print('héllo')"]


def test_a_pattern_with_a_slash_stays_in_its_folder(folder, reader):
    """`*` is one name, and `**/` is whole folders: no others are told to the model."""
    (folder / "src/test.py").write_text("")
    (folder / "src/mytest.py").write_text("")

    assert "src/deep/b.py" not in reader.list_files(".", "src/*.py")
    assert reader.list_files(".", "src/**/test.py") == ["src/test.py"]


def test_a_long_file_is_read_in_parts(folder, reader):
    (folder / "long.txt").write_text("\n".join(f"line {n}" for n in range(1, 451)))

    first = reader.read_file("long.txt").splitlines()
    last = reader.read_file("long.txt", 401)

    assert first[0] == "line 1"
    assert first[-1] == "… 250 more lines, from line 201 on"
    assert last.splitlines()[0] == "line 401"
    assert last.splitlines()[-1] == "line 450"
    # What JSON Schema takes for an integer, too.
    assert reader.read_file("long.txt", 401.0) == last
    assert refusal(reader.read_file, "long.txt", 451) == (
        "'long.txt' has 450 lines; there is no line 451"
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../x", "'../x' leads out of the project: `..` is refused"),
        ("src/../x", "'src/../x' leads out of the project: `..` is refused"),
        ("/etc/passwd", "'/etc/passwd' lies outside the project"),
        ("link", "'link' is a link that leads out of the project"),
        ("linked/x", "'linked/x' is a link that leads out of the project"),
        ("src", "'src' is a folder"),
        ("none.py", "'none.py' does not exist"),
        ("x" * 300, f"{'x' * 300!r} does not exist"),
        ("pipe", "'pipe' is not a plain file"),
        ("bin", "'bin' is binary"),
        ("huge", "'huge' is too large: 8,388,609 bytes, over 8,388,608"),
        ("a\nb", "a path holds no control characters"),
        ("loop", "'loop' does not exist"),
    ],
)  # fmt: skip
def test_error_not_read(folder, tmp_path, reader, path, message):
    (folder / "link").symlink_to(tmp_path / "outside.txt")
    (folder / "linked").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder / "loop")
    os.mkfifo(folder / "pipe")
    (folder / "bin").write_bytes(b"a\0b")
    with (folder / "huge").open("wb") as file:
        file.truncate(8 * 1024 * 1024 + 1)

    assert refusal(reader.read_file, path) == message


@pytest.mark.parametrize(
    "path",
    [".env", ".env.local", "sub/.ENV", ".git/config", ".ssh/id_ed25519", "server.pem",
     "id_rsa", ".netrc", "config/credentials.json", ".aws/config", "harmless.txt"],
)  # fmt: skip
def test_secrets_are_neither_read_nor_listed_nor_found(folder, reader, path):
    """By name, in any folder, in any case, and through a link with a harmless name."""
    secret = folder / (".env" if path == "harmless.txt" else path)
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("TOKEN=abc")
    if path == "harmless.txt":
        (folder / path).symlink_to(secret)

    assert refusal(reader.read_file, path) == (
        f"{path!r} may hold secrets and is not read"
    )
    assert path not in reader.list_files()
    assert reader.search_text("TOKEN") == []


def test_a_file_of_just_the_limit_is_read_whole(folder, reader):
    (folder / "a.txt").write_text("x" * MAX_TEXT_BYTES)

    assert reader.read_text("a.txt") == "x" * MAX_TEXT_BYTES


def test_what_only_looks_like_a_secret_is_read(folder, reader):
    (folder / ".env.example").write_text("TOKEN=")

    assert reader.read_file(".env.example") == "TOKEN="


def test_what_tools_make_is_left_out_of_lists(folder, reader):
    (folder / "node_modules/x").mkdir(parents=True)
    (folder / "node_modules/x/i.js").write_text("1")

    assert "node_modules/x/i.js" not in reader.list_files()
    assert reader.read_file("node_modules/x/i.js") == "1"


def test_a_folder_that_links_out_is_not_walked(folder, tmp_path, reader):
    (folder / "linked").symlink_to(tmp_path)

    assert "linked/outside.txt" not in reader.list_files()
    assert refusal(reader.list_files, "linked") == (
        "'linked' is a link that leads out of the project"
    )


def test_lists_and_matches_are_bounded(folder, reader):
    for number in range(MAX_PATHS + 5):
        (folder / f"f{number:03}.txt").write_text("same\n")
    tools = {tool.name: tool for tool in reading_tools(reader)}

    listed = tools["list_files"].call({"pattern": "f*.txt"}).text.splitlines()
    found = tools["search_text"].call({"text": "same"}).text.splitlines()

    assert listed[-1] == "… 5 more; name a folder or a pattern"
    assert len(listed) == MAX_PATHS + 1
    assert (found[-1], len(found)) == ("… there may be more", MAX_MATCHES + 1)


def test_what_is_binary_counts_as_searched_and_is_hardly_read(folder, monkeypatch):
    """150 of 1 MiB each were read whole, whatever the bound."""
    for number in range(9):
        (folder / f"{number}.bin").write_bytes(b"\0" * 100_000)
    (folder / "z.txt").write_text("needle\n")
    project = Project(folder)

    assert Reader(project).search_text("needle") == ["z.txt:1: needle"]
    assert 9 * 8192 < project.bytes_read < 10 * 8192
    monkeypatch.setattr("bridge.agent_loop.file_tools._SEARCHED_BYTES", 3 * 8192)
    project = Project(folder)
    assert "only the first 24,576 bytes" in refusal(
        Reader(project).search_text, "needle"
    )
    assert project.bytes_read == 3 * 8192


def test_empty_folders_count_as_looked_at(folder, monkeypatch):
    for number in range(9):
        (folder / f"a{number}").mkdir()
    assert "src/app.py" in Project(folder).files()

    monkeypatch.setattr("bridge.agent_loop.workspace.MAX_LISTED", 8)

    listed = Project(folder).files()

    assert next(listed) == "notes.md"
    with pytest.raises(LeftOff, match="only the first 8 files and folders"):
        next(listed)


def test_a_look_that_was_left_off_says_so(folder, monkeypatch):
    """`nothing found`, of a project that was searched in part, is a wrong answer."""
    (folder / "a.txt").write_text("needle in a haystack\n")
    (folder / "b.txt").write_text("-" * 100)
    (folder / "c.txt").write_text("another needle\n")
    tools = {tool.name: tool for tool in reading_tools(Reader(Project(folder)))}
    monkeypatch.setattr("bridge.agent_loop.file_tools._SEARCHED_BYTES", 100)
    searched = "… only the first 100 bytes were searched; name a folder or a pattern"

    assert tools["search_text"].call({"text": "zzz"}).text == searched
    assert tools["search_text"].call({"text": "needle"}).text == (
        f"a.txt:1: needle in a haystack\n{searched}"
    )

    monkeypatch.setattr("bridge.agent_loop.workspace.MAX_LISTED", 2)
    assert tools["list_files"].call({}).text == (
        "a.txt\n… only the first 2 files and folders were looked at; name a folder"
    )


@pytest.mark.parametrize(
    ("look", "arguments"), [("list_files", ()), ("search_text", ("a",))]
)
def test_error_a_look_ends_when_the_run_does(folder, look, arguments):
    """Else a large project makes a request late, and deaf to being cancelled."""
    asked = []
    project = Project(folder, is_over=lambda: asked.append(1) or len(asked) > 2)

    told = refusal(getattr(Reader(project), look), *arguments)

    assert told == "the run is over: no time is left"


def test_error_no_line_before_the_first(reader):
    assert refusal(reader.read_file, "notes.md", 0) == (
        "lines count from 1; there is no line 0"
    )


def test_a_refusal_is_a_result(reader):
    tools = {tool.name: tool for tool in reading_tools(reader)}

    result = tools["read_file"].call({"path": ".."})

    assert (result.ok, result.text) == (
        False,
        "error: '..' leads out of the project: `..` is refused",
    )


def test_nothing_is_said_as_such(folder, reader):
    (folder / "empty").write_text("")
    tools = {tool.name: tool for tool in reading_tools(reader)}

    assert tools["read_file"].call({"path": "empty"}).text == "(empty file)"
    assert tools["list_files"].call({"pattern": "*.zz"}).text == "no files"
    assert tools["search_text"].call({"text": "zzz"}).text == "nothing found"


@given(st.text("./~\\ab-é\0\n:*", max_size=20))
def test_no_path_leaves_the_project(tmp_path_factory, path):
    """Whatever a model writes: inside, or refused."""
    folder = tmp_path_factory.getbasetemp() / "fixed"
    (folder / "a/b").mkdir(parents=True, exist_ok=True)
    try:
        found = Project(folder).find(path)
    except Refused:
        return

    assert found.is_relative_to(os.path.realpath(folder))


def test_a_name_that_cannot_be_said_is_not_listed(folder, reader):
    """Nobody could ask for it; and a line of it would look like one of ours."""
    for name in (b"a\xff.txt", b"b\nforged.py:1: x.txt"):
        (folder / os.fsdecode(name)).write_text("needle")

    assert reader.list_files(".", "*.txt") == []
    assert reader.search_text("needle") == []


@pytest.mark.parametrize("swapped", ["src", "src/deep", "src/deep/b.py"])
def test_error_a_link_that_took_the_place_of_what_was_looked_at(
    folder, tmp_path, monkeypatch, swapped
):
    """A command of the agent's own may swap it, between the look and the opening."""
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    for name in ("deep/b.py", "b.py"):
        (outside / name).write_text("secret")
    targets = {"src": outside, "src/deep": outside, "src/deep/b.py": outside / "b.py"}
    project = Project(folder)
    find = project.find

    def find_then_swap(path):
        real = find(path)
        (folder / swapped).rename(tmp_path / "away")
        (folder / swapped).symlink_to(targets[swapped])
        return real

    monkeypatch.setattr(project, "find", find_then_swap)

    assert refusal(Reader(project).read_file, "src/deep/b.py") == (
        "'src/deep/b.py' was swapped for something else meanwhile"
    )


def test_error_a_folder_that_was_swapped_is_not_listed(folder, tmp_path, monkeypatch):
    project = Project(folder)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/private.txt").write_text("x")

    def find_then_swap(_path):
        (folder / "src").rename(tmp_path / "away")
        (folder / "src").symlink_to(tmp_path / "outside")
        return folder / "src"

    monkeypatch.setattr(project, "find", find_then_swap)

    assert refusal(Reader(project).list_files, "src") == (
        "'src' was swapped for something else meanwhile"
    )


def test_a_folder_that_is_swapped_on_the_way_is_not_walked(folder, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/private.txt").write_text("x")
    (folder / "z").mkdir()
    (folder / "z/a.txt").write_text("x")
    found = Project(folder).files()
    first = next(found)

    (folder / "z").rename(tmp_path / "away")
    (folder / "z").symlink_to(tmp_path / "outside")

    assert [first, *found] == ["notes.md", "src/app.py", "src/deep/b.py"]


def test_nothing_is_left_open(reader):
    """One descriptor for each read, and the day ends early."""
    before = len(os.listdir("/dev/fd"))

    for _ in range(20):
        reader.read_file("src/app.py")
        reader.list_files("src")
        reader.search_text("import")
        refusal(reader.read_file, "src")
        refusal(reader.read_file, "src/none.py")

    assert len(os.listdir("/dev/fd")) == before


def test_folders_in_folders_without_end_are_looked_at_so_far(tmp_path):
    """A clone may bring more of them than the stack or the open files have room for."""
    (tmp_path / "near.txt").touch()
    fd = os.open(tmp_path, os.O_RDONLY)
    for _ in range(100):
        os.mkdir("n", dir_fd=fd)
        below = os.open("n", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("far.txt", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)

    assert list(Project(tmp_path).files()) == ["near.txt"]
