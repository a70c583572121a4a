"""Of whatever state a repository is in, we see the change that git sees."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stateworld import LINK, PLAIN, PROGRAM, SUBMODULE, File, Staged, State, World
from thoroughness import is_full

NAMES = (
    "a", "b.txt", "d", "d/c.txt", "d/e/f.bin", "é x", "x.log", "build/y", "build/z",
    "build/w/q", "B.TXT",
    "d/e/.hidden", "latin-\udce9.txt",
)  # fmt: skip
TEXTS = (
    b"", b"one\n", b"one\ntwo\n", b"one\r\ntwo\r\n", b"one\r\ntwo\n", b"\0\1", b"one",
    b"$Id$\none\n", b"$Id: 1 $\none\n", b"a\rb\n", b"one\r\n\0", b"\xff\xfeo\0\n\0",
)  # fmt: skip
ATTRIBUTES = (
    "* text=auto", "*.txt text", "*.bin binary", "*.txt eol=crlf", "*.txt -text",
    "b.txt ident", "* eol=lf", "/a text=auto eol=crlf", "*.txt !text", "* -text",
    "d/** text", "[attr]mine text eol=lf", "*.txt mine", "a crlf", "* crlf=input",
)  # fmt: skip
IGNORED = (
    "*.log", "build/", "/build", "d/*", "!d/e", "!c.txt", "*.txt", "!*.txt", "e/",
    "/a", ".*", "d/e/**", "*", "!*/", "\ufeff*.log",
)  # fmt: skip
CONFIG = (
    "autocrlf = true", "autocrlf = input", "autocrlf = false", "eol = crlf", "eol = lf",
    "fileMode = false", "symlinks = false", "ignoreCase = true", "safecrlf = true",
    "safecrlf = warn", "quotePath = false", "untrackedCache = true",
    "sparseCheckout = true",
)  # fmt: skip
ODD = ("odd", "o/odd", "build/odd")
FORMS = (
    ("update-index", "--index-version", "4"),
    ("-c", "splitIndex.maxPercentChange=100", "update-index", "--split-index"),
    ("update-index", "--force-untracked-cache"),
    ("update-index", "-q", "--refresh"),
)  # fmt: skip


def lines_of(words: tuple[str, ...]) -> st.SearchStrategy[bytes]:
    lines = st.lists(st.sampled_from(words), max_size=3)
    return lines.map(lambda each: "".join(f"{line}\n" for line in each).encode())


def standing(files: dict[str, File]) -> dict[str, File]:
    """Without those that lie in others: one side has either."""
    return {
        path: file
        for path, file in files.items()
        if not any(path.startswith(f"{other}/") for other in files)
    }


FILES = st.builds(
    File, st.sampled_from(TEXTS), st.sampled_from([PLAIN, PLAIN, PLAIN, PROGRAM])
) | st.just(File(b"nowhere", LINK))
COMMITS = st.sampled_from([File(b"1" * 40, SUBMODULE), File(b"2" * 40, SUBMODULE)])


@st.composite
def sides(draw: st.DrawFn) -> list[dict[str, File]]:
    """The last commit, the index and the work tree: mostly the same files."""
    found: list[dict[str, File]] = [{}, {}, {}]
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6)):
        one = draw(FILES)
        for side in found:
            which = draw(st.sampled_from(["same", "same", "same", "other", "none"]))
            if which != "none":
                side[name] = one if which == "same" else draw(FILES)
    for name in (".gitattributes", "d/.gitattributes", ".gitignore", "d/.gitignore"):
        if draw(st.booleans()):
            words = IGNORED if name.endswith("ignore") else ATTRIBUTES
            one = File(draw(lines_of(words)))
            for side in found if draw(st.booleans()) else found[2:]:
                side[name] = one
    if draw(st.integers(0, 3)) == 0:
        not_checked_out = st.just(File(b"", SUBMODULE))
        for number, side in enumerate(found):
            if draw(st.booleans()):
                side["sub"] = draw(COMMITS if number < 2 else COMMITS | not_checked_out)
    return [*map(standing, found)]


@st.composite
def states(draw: st.DrawFn) -> State:
    head, index, files = draw(sides())
    how = st.sampled_from(["", "", "", "", "assumed", "skipped", "promised", "open"])
    staged = {path: Staged(each, draw(how)) for path, each in index.items()}
    kinds = st.sampled_from(["pipe", "folder", "repository"])
    odd = draw(st.dictionaries(st.sampled_from(ODD), kinds, max_size=1))
    return State(
        head,
        # Git tells of a promise without a file; no commit would differ by it.
        # Nor by a conflict that the work tree has settled as the last commit has it.
        {
            path: each
            for path, each in staged.items()
            if (each.how != "promised" or path in files)
            and (each.how, each.file.mode) != ("open", SUBMODULE)
        },
        files,
        odd,
        tuple(draw(st.lists(st.sampled_from(CONFIG), max_size=2))),
        (draw(lines_of(IGNORED)), draw(lines_of(IGNORED))),
        (draw(lines_of(ATTRIBUTES)), draw(lines_of(ATTRIBUTES))),
        draw(st.sampled_from([(), (), (), *FORMS])),
    )


LAYOUTS = ("plain", "linked", "bare")
# What git says in place of numbers, also by an attribute: ours shows such a file.
BINARY = ("-", "-")


@pytest.fixture(params=LAYOUTS)
def world(request, tmp_path):
    return World(tmp_path, request.param)


@settings(
    max_examples=(2000 if is_full() else 100) // len(LAYOUTS),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(state=states())
def test_we_see_what_git_sees(world, state):
    world.set_up(state)
    gits = world.by_git()

    change = world.by_us()

    assert {each.name for each in change.files} == gits.uncommitted
    assert {each.name for each in world.by_us("staged").files} == gits.staged
    lines = world.lines_by_git()
    for each in change.files:
        # One that is staged apart is shown twice, and not by git; a new one not at all.
        counted = lines.get(os.fsdecode(each.name), BINARY)
        if each.added is not None and not each.staged and counted != BINARY:
            assert (str(each.added), str(each.removed)) == counted
