"""What is read of commands that are long, hostile, or asked about in other ways."""

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from bridge.policy import started_programs
from bridge.policy.command_reading import Reading
from bridge.policy.condition import MAY
from bridge.policy.shell_functions import shell
from bridge.policy.shell_scanner import Scanner
from bridge.policy.shell_words import written
from bridge.policy.started_programs import read

pytestmark = pytest.mark.slow


def reading(command: str) -> Reading:
    return read(command)


NAMES = [
    ("git push", "git push", True),
    ("git -C x --no-pager -c a=b push -f", "git push", True),
    ("git pull && git commit -m push", "git push", False),
    ("git {push,}", "git push", MAY),
    ("git '{push,}' stash@{0}", "git push", False),
    ("git -c alias.p=push p", "git push", MAY),
    ("git --config-env x=y --attr-source z push", "git push", True),
    ("git-push -f; echo", "git push", True),
    ("/usr/lib/git-core/git-push x", "git push x", True),
    ("git-pull; echo git-push", "git push", False),
    ("git $SUB", "git push", MAY),
    ("git $SUB", "git", True),
    ("sudo git push origin main", "git push origin", True),
    ("docker compose -f x up", "docker compose up", True),
    ("npm --prefix x run test", "npm run test", True),
    ("/usr/bin/git push", "/usr/bin/git", True),
    ("git push", "/usr/bin/git", False),
    ("python3 -m pytest", "python", False),
    ("python3 manage.py test", "manage.py", True),
    ("bash ./deploy.sh now", "deploy.sh now", True),
    ("env", "env", True),
]


@pytest.mark.parametrize(("command", "name", "expected"), NAMES)
def test_a_name_may_have_a_place_or_subcommands(command, name, expected):
    assert reading(command).runs([name]) is expected


ALL_WORDS = [
    ("git push --force 'a b'", ["git", "push", "--force", "a b"]),
    ("ls; cat <<A\n--force\nA\n", ["ls", "cat"]),
    ('echo $X "$Y z"', ["echo", "$X", '"$Y z"']),
    ("bash -c 'git push -f'", ["bash", "-c", "git push -f", "git", "push", "-f"]),
    ("# --force", []),
    ("echo 'unclosed", MAY),
    ("$CMD --force", MAY),
]  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), ALL_WORDS)
def test_words_are_those_of_every_program(command, expected):
    assert reading(command).words() == expected


def deep(opened: str, closed: str, levels: int = 900) -> str:
    return opened * levels + "pytest" + closed * levels


HOSTILE = [
    ("x" * (10 * 1024 * 1024) + "; pytest", MAY, "more than 131072 characters"),
    ("pytest\0", MAY, "a NUL, which no shell takes"),
    ("echo \ud800\udcff; pytest", True, None),
    ("pytest\ud800", False, None),
    (deep("$(", ")"), True, None),
    (deep("( ", ")"), True, None),
    # In bash this is arithmetic.
    (deep("(", ")"), False, None),
    (deep("{ ", "; }"), True, None),
    (deep("( ", ""), True, "not the syntax of bash"),
    (deep("bash -c ", ""), False, None),
    (deep('"$(', ')"', 450), True, None),
    (deep("$(", ")", 30_000), MAY, "too many brackets inside one another"),
    (deep("{ ", "; }", 20_000), MAY, "too many brackets inside one another"),
    ("a || " * 20_000 + "pytest", True, None),
    ("pytest\n" * 15_000, True, None),
    ("; ".join(f"f{n}() {{ f{n + 1}; }}" for n in range(3_000)), False, None),
    ("eval " * 20_000 + "pytest", MAY, "too many shells"),
    ("env " * 30_000 + "pytest", MAY, "too many wrappers"),
    ("find . -exec " * 9_000 + "pytest", MAY, "too many wrappers"),
    ("find . " + "-exec pytest \\; " * 7_000, True, None),
    ("alias a=pytest; " * 5_000, MAY, "too many shells"),
    ("cat <<A\n" + "$(" * 30_000 + "\nA\npytest", True, "is not closed"),
    ("cat <<A\n" + deep("${", "}") + "\nA\n", False, None),
    ("\U00015bcd\u013e\U000ebdc0{\U000fccbf; pytest", True, None),
    ("cat <<\xe9\n\xea\n'\n\xe9\npytest #'", True, None),
    ("pytest|" * 15_000 + "cat", True, None),
]


@pytest.mark.parametrize(
    ("command", "expected", "problem"), HOSTILE, ids=itertools.count()
)
def test_error_hostile_commands_end(command, expected, problem):
    """Refused by name, or read; never half read without saying so."""
    found = reading(command)

    assert found.runs(["pytest"]) is expected
    assert (problem or "") in "\n".join(found.problems)
    assert bool(found.problems) is bool(problem)


STARTS = {"find .": "-exec pytest \\;", "awk": "system", "alias": "a=b"}


@pytest.mark.parametrize("program", STARTS)
def test_what_starts_many_programs_is_written_out_once(program, monkeypatch):
    """Each of them says where it came from: that is all of the command, each time."""
    command = program + f" {STARTS[program]}" * 1_000
    lengths = []

    def counted(words):
        lengths.append(len(words))
        return written(words)

    monkeypatch.setattr(started_programs, "written", counted)

    reading(command)

    assert sum(lengths) < 2 * len(command.split())


@pytest.mark.parametrize("piece", ["{", "${a:-", "[a-", "a=$(", "f() { f; };", "<<A "])
def test_no_text_takes_what_follows_the_parser_long(piece):
    """Of eight times the text it takes some eight times as long, not 64 times."""
    took = []
    for size in (16_000, 128_000):
        start = time.process_time()
        found = reading("$X " + piece * (size // len(piece)))
        found.runs(["git push"])
        found.hides(["git push"])
        took.append(time.process_time() - start)

    assert took[1] < 32 * took[0] + 0.5


def test_a_command_is_read_once_for_all_conditions(monkeypatch):
    texts = []

    def counted(command):
        texts.append(command)
        return reading(command)

    monkeypatch.setattr(started_programs, "read", counted)
    functions = shell()

    assert functions["runs"]("cd x; pytest", "pytest") is True
    assert functions["runs"]("cd x; pytest", "ruff") is False
    assert functions["words"]("cd x; pytest") == ["cd", "x", "pytest"]
    assert texts == ["cd x; pytest"]


HERE_DOCUMENTS = [
    ("plain\n", "plain\n", []),
    (
        "a $X ${Y:-z} $(b) `c` $1 $?\n",
        "a \0 \0 \0 \0 \0 \0\n\n# a $X ${Y:-z} $(b) `c` $1 $?\n",
        ["b", "c"],
    ),
    ('\\$X \\`a\\` \\\\ \\n \\"\n', '$X `a` \\ \\n \\"\n', []),
    ("$5.00 costs $ 3\n", "\0.00 costs $ 3\n", []),
    ("$(a $(b) ')') x\n", "\0 x\n\n# $(a $(b) ')') x\n", ["a", "b"]),
    ("${X:-$(a)}\n", "\0\n\n# ${X:-$(a)}\n", ["a"]),
]


@pytest.mark.parametrize(("text", "expected", "commands"), HERE_DOCUMENTS)
def test_a_here_document_is_expanded(text, expected, commands):
    scanner = Scanner(f"cat <<E\n{text}E\n")

    cat, *others = sorted(scanner.commands, key=lambda one: one.words[0] != "cat")
    assert cat.stdin == expected
    assert sorted(one.words[0] for one in others) == commands


WORDS = (
    "pytest echo bash -c env xargs if then fi ; && | & ( ) { } $( ` ' \" <<EOF EOF \n "
    "\\ $X ${ [[ ]] case esac in time ! eval f() > <( 2>&1 <<< for do done # $(( '"
)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.one_of(
        st.text(max_size=80),
        st.lists(st.sampled_from(WORDS.split(" ")), max_size=30).map(" ".join),
    )
)
def test_any_text_is_read(command):
    found = reading(command)

    assert found.runs(["pytest"]) in {True, False, MAY}
    assert found.words() is MAY or isinstance(found.words(), list)
