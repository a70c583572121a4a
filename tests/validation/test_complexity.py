"""How much a change asks for: more of it is never less, and nothing in it lowers it."""

from dataclasses import replace

import built_in_agents
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.change.change import Change, ChangedFile
from bridge.change.diffs import file_diff
from bridge.validation.complexity import BUILT_IN, PARSED, TABLE, Complexity, assess
from bridge.validation.kinds import kinds_of

MODES = (0o100644, 0o100644)


def change(*files: ChangedFile, texts: dict[str, str] | None = None) -> Change:
    """A change of these files, with the texts that they get."""
    diffs = [
        file_diff(path.encode(), None, text.encode(), modes=MODES).text
        for path, text in (texts or {}).items()
    ]
    return Change("\n".join(diffs), files=files)


def file(path: str, added: int | None = 1, **facts: object) -> ChangedFile:
    return ChangedFile(path, added, 0, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "complexity", "kinds"),
    [
        ([file("README.md")], "trivial", ("docs",)),
        ([file("docs/a.rst", 200)], "trivial", ("docs",)),
        ([file("docs/a.rst", 201)], "high", ("docs",)),
        ([file("a.py", 60)], "low", ("code",)),
        ([file("tests/test_a.py"), file("a.py")], "low", ("code", "tests")),
        ([file("a.py", 61)], "medium", ("code",)),
        ([file(f"{n}.py") for n in range(4)], "medium", ("code",)),
        ([file(f"{n}.py") for n in range(13)], "high", ("code",)),
        ([file("a.py", 401)], "high", ("code",)),
        ([file("pyproject.toml")], "medium", ("build",)),
        ([file("requirements-dev.txt")], "medium", ("build",)),
        ([file(".github/workflows/ci.yml")], "medium", ("build",)),
        ([file("CLAUDE.md")], "high", ("agents",)),
        ([file("sub/.claude/settings.json")], "high", ("agents",)),
        ([file(".MCP.json")], "high", ("agents",)),
        ([file("agents/a.md")], "high", ("agents",)),
        ([file("x/Commands/sub/a.md")], "high", ("agents",)),
        ([file("skills/x/notes.txt")], "high", ("agents",)),
        ([file("prompts/a.txt")], "high", ("agents",)),
        ([file("docs/AGENTS.md")], "high", ("agents",)),
        ([file(".roo/rules/a.md")], "high", ("agents",)),
        ([file(".clinerules")], "high", ("agents",)),
        ([file(".github/x.instructions.md")], "high", ("agents", "build")),
        ([replace(file("docs/a.md"), is_told=True)], "high", ("agents",)),
        ([file("src/commands/a.py")], "low", ("code",)),
        ([file("src/auth/login.py")], "high", ("security",)),
        ([file("logo.png", None, is_binary=True, is_shown=False)], "high", ("unread",)),
        ([file("no-suffix")], "low", ("code",)),
        ([file("README.md", is_plain=False)], "low", ("code",)),
        ([file("authors.md")], "trivial", ("docs",)),
        ([file("notes.md.py")], "low", ("code",)),
    ],
    ids=lambda value: value[0].path if isinstance(value, list) else None,
)
def test_the_first_row_that_a_change_fits(files, complexity, kinds):
    found = assess(change(*files))

    # Prose alone is in the row of code, too, once there is too much of it.
    expected = "medium" if complexity == "high" and kinds == ("docs",) else complexity
    assert (found.complexity, found.kinds) == (expected, kinds)


def test_words_that_concern_security():
    """In the lines of code, added or removed; prose may speak of passwords."""
    code = change(file("a.py"), texts={"a.py": "subprocess.run(x, shell=True)\n"})
    prose = change(file("a.md"), texts={"a.md": "Your password is safe.\n"})

    assert assess(code).complexity is Complexity.HIGH
    assert "security: 'subprocess', 'shell=true'" in assess(code).reasons
    assert assess(prose).complexity is Complexity.TRIVIAL


def test_a_text_cannot_pass_for_the_head_of_prose():
    """The diff of a file may hold lines that look like the beginning of another."""
    text = "diff --git a/a.md b/a.md\neval(x)\n"
    forged = change(file("a.md"), file("b.py"), texts={"a.md": "x\n", "b.py": text})

    assert assess(forged).complexity is Complexity.HIGH


def test_validators_and_why():
    """The table of docs/validation.md."""
    found = assess(change(*(file(f"{n}.md") for n in range(3)), file("x.py", 70)))

    assert (found.validators, found.reasons) == (BUILT_IN[:3], ("4 files", "73 lines"))
    assert found.parsable == ("x.py",)
    whole = [assess(change(file("x.py", lines))).validators for lines in (1, 100, 500)]
    assert whole == [BUILT_IN[:2], BUILT_IN[:3], BUILT_IN]


def test_syntax_is_checked_where_there_is_something_to_parse():
    gone = replace(file("x.py"), is_deleted=True)

    assert assess(change(file("x.rs"))).validators == ("validator-logic",)
    assert assess(change(gone)).validators == ("validator-logic",)
    assert assess(change(gone, file("y.sh"))).parsable == ("y.sh",)


def test_a_change_that_was_not_read_whole_is_the_most():
    found = assess(replace(change(file("a.md")), is_whole=False))

    assert found.complexity is Complexity.HIGH
    assert found.reasons == ("unread: not all of the change was read",)


def test_the_table_names_validators_that_are_there():
    for row in TABLE:
        assert [built_in_agents.definition_of(name).name for name in row.validators]
    allow = " ".join(built_in_agents.definition_of("validator-syntax").allow)
    for suffix, program in {".py": "py_compile", ".js": "node", ".sh": "sh -n",
                            ".bash": "bash -n", ".php": "php"}.items():  # fmt: skip
        assert suffix in PARSED
        assert program in allow


NAMES = st.one_of(
    st.sampled_from(
        ["a.md", "README", "x.py", "t/test_x.py", "pyproject.toml", "CLAUDE.md",
         "src/auth.py", ".claude/x", "a.md/../x.py", "docs/x", "x.py\n+a.md", "é.MD"]
    ),
    st.text(min_size=1, max_size=20),
)  # fmt: skip
FILES = st.builds(
    ChangedFile,
    path=NAMES,
    added=st.one_of(st.none(), st.integers(0, 500)),
    removed=st.one_of(st.none(), st.integers(0, 500)),
    is_new=st.booleans(),
    is_deleted=st.booleans(),
    is_shown=st.booleans(),
    is_plain=st.booleans(),
)
TEXT = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r"))


@given(st.lists(FILES, min_size=1, max_size=6), FILES, TEXT, TEXT)
def test_more_of_a_change_never_means_fewer_validators(files, more, text, added):
    """Another file, more lines, more text: each leaves it or raises it."""
    names = [each.path for each in files]
    less = change(*files, texts={names[0]: text})
    levels = list(Complexity)
    before = assess(less)

    for grown in (
        replace(less, files=(*files, more)),
        replace(less, files=(replace(files[0], added=10_000), *files[1:])),
        replace(less, diff=f"{less.diff}\n+{added}"),
        replace(less, more_files=5),
        replace(less, is_whole=False),
    ):
        after = assess(grown)
        assert {*before.validators} <= {*after.validators}
        assert levels.index(before.complexity) <= levels.index(after.complexity)


@given(st.text(max_size=300))
def test_any_name_has_a_kind(path):
    """In time that no name can stretch."""
    assert kinds_of(ChangedFile(path * 10))
