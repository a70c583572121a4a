"""The text of `answers.lock`: what is written is read, anything else is an error."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lockworld import ANSWER, DIGEST, GOOD, HEAD, item

from bridge import InvalidRequest
from bridge.freshness.lock_file import HEAD_1, Item, LockedAnswer, parsed, written

# As an earlier hostbridge wrote it.
OLD = f"""{HEAD_1}
answer {DIGEST}
  agent "checker"
  asked "Look."
  file {DIGEST} "src/a.py"
"""


def below(line: str) -> str:
    """A good lock, and a line at its end: the fourth."""
    return f"{GOOD}{line}\n"


ERRORS = {
    "head": ("something else\n", 1, 'expected {"hostbridge answers": 2, …}, got'),
    "newer": ('{"hostbridge answers": 3}\n', 1, "newer hostbridge: update this one"),
    "odd version": ('{"hostbridge answers": true}\n', 1, "expected {"),
    "no answer": (f"{HEAD}\n{item('file', 'x')}\n", 2, "expected `answer` and the SHA"),
    "short digest": (f'{HEAD}\n{{"answer": "ab"}}\n', 2, "expected the SHA-256 of a q"),
    "unknown word": (
        below(item("files", "x")),
        4,
        "expected one of definition, absent",
    ),
    "of version 1": (below(item("agent", "x")), 4, "expected one of definition"),
    "empty": (below("{}"), 4, "expected one of definition, absent"),
    "no object": (below("[1]"), 4, "expected an object of JSON, got '[1]'"),
    "no JSON": (below("{file}"), 4, "expected an object of JSON, got '{file}'"),
    "deep": (below("[" * 100_000), 4, "expected an object of JSON"),
    "no text": (below('{"absent": 7}'), 4, "expected a text, got '7'"),
    "no digest": (below(item("file", "x", digest="")), 4, "`file`: expected a SHA"),
    "odd digest": (
        below('{"file": "x", "sha256": 7}'),
        4,
        "`file`: expected a SHA-256",
    ),
    "twice": (below('{"absent": "x", "absent": "y"}'), 4, "a key stands there twice"),
    "more": (below('{"absent": "x", "z": 1}'), 4, "`absent`: 'z' is not known here"),
    "more of it": (f'{HEAD}\n{ANSWER[:-1]}, "z": 1}}\n', 2, "`answer`: 'z' is not"),
    "up": (below(item("file", "../x")), 4, "'../x' is not a plain path"),
    "inside up": (below(item("file", "a/../../x")), 4, "is not a plain path"),
    "absolute": (below(item("file", "/etc/passwd")), 4, "is not a plain path"),
    "git": (below(item("file", ".git/config")), 4, "is not a plain path"),
    "no path": (below(item("file", "")), 4, "'' is not a plain path"),
    "nul": (below(item("file", "a\0")), 4, "is not a plain path"),
    "surrogate": (below(item("file", "\ud800")), 4, "half of a surrogate"),
    "pattern up": (below(item("names", ".", "../*")), 4, "is not a pattern"),
    "slow pattern": (below(item("names", ".", "*a" * 40)), 4, "is not a pattern of fi"),
    "many patterns": (
        below(item("names", ".", *["x"] * 30)),
        4,
        "`names`: expected",
    ),
    "pattern of one": (below(item("file", "x", "y")), 4, "`file`: expected 0"),
    "conflict": (below("<<<<<<< HEAD"), 4, "the mark of a merge that was not"),
    "its middle": (f"{HEAD}\n=======\n", 2, "the mark of a merge that was not"),
    "escape codes": (below(item("file", "\x1b[2J/../x")), 4, r"'\x1b[2J/../x' is not"),
    "raw escape codes": (below('{"file": "\x1b[2J"}'), 4, r"\x1b[2J"),
    "head alone": (f"{HEAD}\n\n", 3, "the file ends, and has no answer"),
    "nothing": ("", 1, "got ''"),
    "braces": (below(item("names", "src", "{.,x}/*")), 4, "is not a pattern of files"),
    "absolute pattern": (below(item("names", ".", "/etc/*")), 4, "is not a pattern"),
    "pattern for itself": (
        below(item("names", "src", "./*")),
        4,
        "is not a pattern of",
    ),
    "home": (below(item("names", ".", "~/*")), 4, "is not a pattern of files"),
    "pattern and up": (below(item("names", ".", "**/../..")), 4, "is not a pattern"),
    "tree up": (below(item("tree", "..")), 4, "'..' is not a plain path"),
    "tree of all": (below(item("tree", "/")), 4, "'/' is not a plain path"),
    "two definitions": (
        below(f"{item('definition', 'user')}\n{item('definition', 'user')}"),
        5,
        "`definition` stands there twice",
    ),
    "two answers": (below(ANSWER), 4, "has an answer above"),
    "nobody": (f'{HEAD}\n{{"answer": "{DIGEST}"}}\n', 3, "answer above has no `agent`"),
    "1: no answer": (f'{HEAD_1}\n  agent "x"\n', 2, "expected `answer` and the SHA"),
    "1: short": (f"{HEAD_1}\nanswer ab\n", 2, "expected the SHA-256 of a question"),
    "1: word": (f'{OLD}  files "x"\n', 6, "expected one of agent, asked"),
    "1: no name": (f"{OLD}  file {DIGEST}\n", 6, "expected a word, a SHA-256"),
    "1: no digest": (f'{OLD}  file "x"\n', 6, "`file`: expected a SHA-256"),
    "1: escape": (f'{OLD}  file {DIGEST} "\\q"\n', 6, "is not a JSON string"),
    "1: up": (f'{OLD}  file {DIGEST} "../x"\n', 6, "'../x' is not a plain path"),
    "1: two agents": (f'{OLD}  agent "y"\n', 6, "`agent` stands there twice"),
    "1: two answers": (f"{OLD}answer {DIGEST}\n", 6, "has an answer above"),
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
    for start in ("", HEAD + "\n", GOOD, OLD):
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


def test_what_an_earlier_hostbridge_wrote_is_read():
    text = f"""{OLD}
# A note.
answer {"cd" * 32}
  agent "x"
  asked "\\u00e9"
  definition {DIGEST} "user"
  absent "CLAUDE.md"
  names {DIGEST} "src" "*.py" "*.pyi"
"""
    file = Item("file", "src/a.py", DIGEST)
    names = Item("names", "src", DIGEST, ("*.py", "*.pyi"))

    assert parsed(text, "x") == [
        LockedAnswer(DIGEST, "checker", "Look.", (file,)),
        LockedAnswer(
            "cd" * 32, "x", "é", (Item("absent", "CLAUDE.md"), names), ("user", DIGEST)
        ),
    ]


def test_line_ends_that_git_has_changed_do_not_matter():
    """As with core.autocrlf."""
    assert parsed(GOOD.replace("\n", "\r\n"), "x") == parsed(GOOD, "x")
