"""Reading, listing and searching: whole for a script, in parts for a model."""

import pytest
from runworld import refusal

from bridge.agent_loop.file_tools import (
    MAX_MATCHES,
    MAX_PATHS,
    MAX_TEXT_BYTES,
    FileReader,
    reading_tools,
)
from bridge.agent_loop.workspace import Project


def result_of(reader: FileReader, tool: str, **arguments: object) -> str:
    tools = {each.name: each for each in reading_tools(reader)}
    return tools[tool].call(arguments).text


def test_reads_lists_and_searches(reader):
    assert reader.read_file("src/app.py") == "import os\nprint('héllo')"
    assert reader.list_files() == ["notes.md", "src/app.py", "src/deep/b.py"]
    assert reader.list_files("src", "*.py") == ["src/app.py", "src/deep/b.py"]
    assert reader.list_files(".", "src/**/*.py") == ["src/app.py", "src/deep/b.py"]
    assert reader.search_text("héllo") == ["src/app.py:2: print('héllo')"]


def test_a_pattern_with_a_slash_stays_in_its_folder(folder, reader):
    """`*` is one name, and `**/` is any number of whole folders."""
    (folder / "src/test.py").write_text("")
    (folder / "src/mytest.py").write_text("")

    assert "src/deep/b.py" not in reader.list_files(".", "src/*.py")
    assert reader.list_files(".", "src/**/test.py") == ["src/test.py"]


def test_a_long_file_is_read_in_parts(folder, reader):
    (folder / "long.txt").write_text("\n".join(f"line {n}" for n in range(1, 451)))

    first = reader.read_file("long.txt").splitlines()
    last = reader.read_file("long.txt", 401)

    assert (first[0], first[199]) == ("line 1", "line 200")
    assert first[200:] == ["… 250 more lines, from line 201 on"]
    assert last.splitlines() == [f"line {n}" for n in range(401, 451)]
    # For JSON Schema, 401.0 is an integer, too.
    assert reader.read_file("long.txt", 401.0) == last
    assert reader.read_file("long.txt", 450) == "line 450"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (0, "lines count from 1; there is no line 0"),
        (2, "'notes.md' has 1 lines; there is no line 2"),
    ],
)
def test_error_no_such_line(reader, line, message):
    assert refusal(reader.read_file, "notes.md", line) == message


def test_a_file_of_exactly_the_limit_is_read_whole(folder, reader):
    (folder / "a.txt").write_text("x" * MAX_TEXT_BYTES)

    assert reader.read_text("a.txt") == "x" * MAX_TEXT_BYTES


def test_nothing_found_is_said(folder, reader):
    (folder / "empty").write_text("")

    assert result_of(reader, "read_file", path="empty") == "(empty file)"
    assert result_of(reader, "list_files", pattern="*.zz") == "no files"
    assert result_of(reader, "search_text", text="zzz") == "nothing found"


@pytest.mark.parametrize("over", [0, 5])
def test_lists_and_matches_are_bounded(folder, reader, over):
    for number in range(MAX_PATHS + over):
        (folder / f"f{number:03}.txt").write_text("same\n")

    listed = result_of(reader, "list_files", pattern="f*.txt").splitlines()
    found = result_of(reader, "search_text", text="same").splitlines()

    more = ["… 5 more; name a folder or a pattern"] if over else []
    assert listed[MAX_PATHS:] == more
    assert (len(found), found[-1]) == (MAX_MATCHES + 1, "… there may be more")


def test_binary_files_count_as_searched_but_only_their_head_is_read(
    folder, monkeypatch
):
    """Once, 150 of 1 MiB each were read whole, whatever the limit."""
    for number in range(9):
        (folder / f"{number}.bin").write_bytes(b"\0" * 100_000)
    (folder / "z.txt").write_text("needle\n")
    project = Project(folder)

    assert FileReader(project).search_text("needle") == ["z.txt:1: needle"]
    assert 9 * 8192 < project.bytes_read < 10 * 8192
    monkeypatch.setattr("bridge.agent_loop.file_tools._SEARCHED_BYTES", 3 * 8192)
    project = Project(folder)
    why = refusal(FileReader(project).search_text, "needle")
    assert "only the first 24,576 bytes" in why
    assert project.bytes_read == 3 * 8192


def test_a_search_that_ended_early_says_so(folder, monkeypatch):
    """`nothing found` would be wrong for a project that was searched in part."""
    (folder / "a.txt").write_text("needle in a haystack\n")
    (folder / "b.txt").write_text("-" * 100)
    (folder / "c.txt").write_text("another needle\n")
    reader = FileReader(Project(folder))
    monkeypatch.setattr("bridge.agent_loop.file_tools._SEARCHED_BYTES", 100)
    searched = "… only the first 100 bytes were searched; name a folder or a pattern"

    assert result_of(reader, "search_text", text="zzz") == searched
    expected = f"a.txt:1: needle in a haystack\n{searched}"
    assert result_of(reader, "search_text", text="needle") == expected

    monkeypatch.setattr("bridge.agent_loop.workspace.MAX_LISTED", 2)
    wanted = "a.txt\n… only the first 2 files and folders were looked at; name a folder"
    assert result_of(reader, "list_files") == wanted


@pytest.mark.parametrize(
    ("look", "arguments"), [("list_files", ()), ("search_text", ("a",))]
)
def test_error_a_search_ends_when_the_run_does(folder, look, arguments):
    """Otherwise a large project would delay the end of a cancelled request."""
    asked = []
    project = Project(folder, is_over=lambda: asked.append(1) or len(asked) > 2)

    why = refusal(getattr(FileReader(project), look), *arguments)

    assert why == "the run is over: no time is left"
