"""The text of `answers.lock`: what is written is read, anything else is an error."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lockworld import DIGEST, GOOD

from bridge import InvalidRequest
from bridge.freshness.lock_file import HEAD, Item, LockedAnswer, parsed, written

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
    "head alone": (f"{HEAD}\n# x\n", 3, "the file ends, and has no answer"),
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
