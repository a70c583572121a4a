"""Only commands that a rule covers run, and none that needs a shell."""

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bridge.policy.command_grants import Grants, NotGranted, refusal
from bridge.protocol.json_schema import problem_of

GRANTED = [
    ("Bash(pytest -q)", "pytest -q", ["pytest", "-q"]),
    ("Bash(pytest *)", "pytest -q 'a b'", ["pytest", "-q", "a b"]),
    ("Bash(pytest *)", "pytest", ["pytest"]),
    ("Bash(pytest:*)", "pytest  -q", ["pytest", "-q"]),
    ('Bash(pytest -k "a b")', 'pytest  -k "a b"', ["pytest", "-k", "a b"]),
    ("Bash(pytest *)", "pytest 'a  b'", ["pytest", "a  b"]),
    ("Bash(git * main)", "git log main", ["git", "log", "main"]),
    ("Bash(npm run test*)", "npm run test:unit", ["npm", "run", "test:unit"]),
    ("Bash", "ls -la", ["ls", "-la"]),
    ("Bash(*)", "ls", ["ls"]),
    ("run_command(ls)", "ls", ["ls"]),
]


@pytest.mark.parametrize(("rule", "command", "argv"), GRANTED)
def test_granted(rule, command, argv):
    assert Grants([rule]).argv(command) == argv


NOT_GRANTED = [
    ("Bash(pytest -q)", "pytest -q x"),
    ("Bash(pytest *)", "pytestx"),
    ("Bash(pytest *)", "./pytest -q"),
    ("Bash(pytest *)", "FOO=1 pytest"),
    ("Bash(pytest *)", "sh -c pytest"),
    ("Bash(pytest *)", "'pytest x' -q"),
    # One program, in a folder that a project may well bring.
    ("Bash(pytest *)", "pytest\u3000/run"),
    ("Bash(pytest *)", "pytest\xa0/run"),
    ("Bash(pytest *)", "pytest\x0b/run"),
    ("Bash(pytest *)", "pytest\x85/../run"),
    ("Bash(git log)", "git\u2003log"),
    ("Bash(git status)", "git statusx"),
    ("Bash(a.c)", "abc"),
    ("Read", "ls"),
    ("BashX(ls)", "ls"),
]


@pytest.mark.parametrize(("rule", "command"), NOT_GRANTED)
def test_error_not_granted(rule, command):
    grants = Grants([rule])

    with pytest.raises(NotGranted) as caught:
        grants.argv(command)

    words = str(caught.value)
    assert words == f"{command!r} is not granted; granted: {grants.words}"


SHELL_SYNTAX = [
    ("ls; rm x", "';'"),
    ("ls && rm x", "'&'"),
    ("ls & rm x", "'&'"),
    ("ls | sh", "'|'"),
    ("ls > x", "'>'"),
    ("sort < x", "'<'"),
    ("ls $(rm x)", "'$('"),
    ("ls ${x}", "'${'"),
    ("ls `rm x`", "'`'"),
    ("ls\nrm x", r"'\n'"),
    ("ls\rrm x", r"'\r'"),
    ("ls \0", r"'\x00'"),
    ("grep 'a|b' x", "'|'"),
    ("pytest $x", "'$'"),
    ('pytest "$x"', "'$'"),
    ("pytest $[x]", "'$['"),
    ("pytest =(x)", "'('"),
]


@pytest.mark.parametrize(("command", "odd"), SHELL_SYNTAX)
def test_error_shell_syntax_is_never_granted(command, odd):
    """Not even by a rule for every command."""
    with pytest.raises(NotGranted) as caught:
        Grants(["Bash"]).argv(command)

    assert str(caught.value) == (
        f"{odd} is never granted: one program and its arguments, no shell"
    )


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "the command is empty"),
        ("''", "the command is empty"),
        ("ls 'x", "cannot be read as a command: No closing quotation"),
        ("l" * 1001, "a command has at most 1000 characters"),
    ],
)
def test_error_no_usable_command(command, message):
    with pytest.raises(NotGranted) as caught:
        Grants(["Bash"]).argv(command)

    assert str(caught.value) == message


def test_rules_for_other_tools_grant_nothing():
    assert not Grants(["Read", "Edit(src/*)", "Bash()", "Bash(x"])
    assert Grants(["Bash(ls)"])


def test_the_rules_in_words():
    grants = Grants(
        ["Bash(pytest:*)", "Read", "Bash(git log)", "Bash(ls [-a -l -r -t -u])"]
    )

    assert grants.words == "`pytest *`, `git log`, `ls [-a -l -r -t …]`"


def test_exact_rules_become_a_choice():
    """A small model cannot miss then."""
    exact = Grants(["Bash(pytest -q)", "Bash(ruff check .)"])

    assert exact.parameters() == {"enum": ["pytest -q", "ruff check ."]}
    assert Grants(["Bash(pytest *)"]).parameters()["type"] == "string"


@given(st.text(max_size=60))
@example("\\ ")
def test_only_the_named_program_is_granted(command):
    """Whatever the text is: no other program, and nothing that a shell would do."""
    try:
        argv = Grants(["Bash(pytest *)"]).argv(command)
    except NotGranted:
        return

    assert argv[0] == "pytest"
    assert not set(";&|<>`\n\r\0") & set(command)


@given(st.lists(st.text("ab ;&|$(`'\"\\\n=*", min_size=1, max_size=6), max_size=4))
def test_arguments_are_passed_unchanged(arguments):
    """Quoting is undone once, and nothing is expanded."""
    command = shlex.join(["pytest", *arguments])
    try:
        argv = Grants(["Bash(pytest:*)"]).argv(command)
    except NotGranted:
        assert any(set(a) & set(";&|`\n") or "$(" in a for a in arguments)
        return

    assert argv == ["pytest", *arguments]


WRITABLE = [
    ("pytest", True),
    ("pytest -q tests/a.py::test_b", True),
    ("npm run lint", True),
    ("pytests", False),
    ("pytest; rm x", False),
    ("pytest $HOME", False),
    ("pytest 'a b'", False),
    ("ruff check", False),
    ("make test-all", True),
    ("make install", False),
]


@pytest.mark.parametrize(("command", "fits"), WRITABLE)
def test_a_small_model_can_write_only_what_is_granted(command, fits):
    """In plain words; whatever it can write is granted."""
    grants = Grants(["Bash(pytest *)", "Bash(npm:*)", "Bash(make test*)"])
    schema = grants.parameters(is_held_to_rules=True)

    assert (problem_of(schema, command) is None) is fits
    if fits:
        assert grants.argv(command)


PYTEST = "Bash(pytest [-q --tb=*] *)"
GIT = "Bash(git commit [-m=*])"


GRANTED_ARGV = [
    (["pytest", "-q", "tests/a b.py"], "Bash(pytest *)"),
    (["pytest"], "Bash(pytest *)"),
    (["pytest", "-q", "--tb", "short", "tests"], PYTEST),
    (["make", "-n", "it's"], 'Bash(make -n "it\'s")'),
    (["echo", "a;b"], "Bash(echo 'a;b')"),
    (["git", "commit", "-m", "one; two\n\n$(three) | `four` > five"], GIT),
    (["git", "commit", "-m", "'quoted' \"twice\""], GIT),
    (["rm", "-rf", "/"], "Bash"),
    (["sh", "-c", "a\nb"], "Bash(*)"),
    (["bash", "-c", "pytest"], "Bash(bash *)"),
]


@pytest.mark.parametrize(("argv", "rule"), GRANTED_ARGV, ids=str)
def test_an_argv_is_granted_as_its_line_would_be(argv, rule):
    """What no shell reads is plain text: a message may hold any sign."""
    assert refusal(argv, [rule]) is None


STARTS = "It starts 'pytest -q': a rule for that alone does not cover"
REFUSED_ARGV = [
    ([], "Bash", "the command is empty"),
    (["", "x"], "Bash", "the command is empty"),
    (["a\0b"], "Bash", "a word of the command holds a NUL byte, which no program"),
    (["pytest"], "Read", "no rule grants a program, as Bash(pytest *)"),
    (["pytest x"], "Bash(pytest *)", "granted: `pytest *`"),
    (["pytest\n", "x"], "Bash(pytest *)", "no `*` covers '\\n'"),
    (["./pytest"], "Bash(pytest *)", "granted: `pytest *`"),
    (["/tmp/pytest"], "Bash(pytest *)", "granted: `pytest *`"),
    (["pytest", "-q", "-p", "evil"], PYTEST, "the option -p is not granted"),
    (["pytest", "--tb=short", "--basetemp=/x"], PYTEST, "the option --basetemp is"),
    (["pytest", "--", "--basetemp=x"], PYTEST, "the option -- is not granted"),
    (["pytest", "../x"], PYTEST, "'../x' lies outside the project"),
    (["pytest", "@options"], PYTEST, "'@options' may name a file of options"),
    (["pytest", "-qc", "x"], PYTEST, "the option -c is not granted"),
    (["pytest", "--tb"], PYTEST, "the option --tb lacks its value"),
    (["git", "commit", "-m", "--amend"], GIT, "the option -m lacks its value"),
    (["git", "commit", "-m", "x", "y"], GIT, "it covers no operand, and 'y' is"),
    (["git", "-c", "a.b=c", "commit", "-m", "x"], GIT, "granted: `git commit "),
    (["git", "commit", "-m", "a; b", "-F", "x"], GIT, "the option -F is not"),
    (["find", ".", "-exec", "rm", ";"], "Bash(find . *)", "no `*` covers ';'; a rule"),
    (["env", "A=1", "pytest", "-q"], "Bash(pytest *)", f"{STARTS} 'env'"),
    (["bash", "-c", "pytest -q"], "Bash(pytest *)", f"{STARTS} 'bash'"),
    (["-q", "pytest"], "Bash(pytest *)", "granted: `pytest *`"),
]


@pytest.mark.parametrize(("argv", "rule", "why"), REFUSED_ARGV, ids=str)
def test_an_argv_that_no_rule_covers_is_refused_with_the_reason(argv, rule, why):
    """A value that a step puts in can neither become an option nor another program."""
    said = refusal(argv, [rule])

    assert why in said


def test_the_place_of_a_program_counts_for_an_argv():
    """Links in the project are followed by whoever knows the folder."""
    assert refusal(["cat", "link/x"], ["Bash(cat [] *)"], lambda p: p == ".") == (
        "'cat link/x' is not granted: 'link/x' lies outside the project"
    )


VARIABLES = [
    ("Bash(git log [-p] *)", "GIT_TRACE=x", False),
    ("Bash(git log [-p GIT_TRACE=*] *)", "GIT_TRACE=x", True),
    ("Bash(git log [GIT_TRACE=1] *)", "GIT_TRACE=1", True),
    ("Bash(git log [GIT_TRACE=1] *)", "GIT_TRACE=/x", False),
    ("Bash(git *)", "GIT_CONFIG_PARAMETERS=x", False),
    ("Bash(git log)", "HOME=x", False),
    ("Bash", "HOME=x", True),
    ("Bash", "BRIDGE_SESSION=x", False),
    ("Bash(git log [BRIDGE_HOME=*])", "BRIDGE_HOME=x", False),
    ("Bash(git *)", "LC_ALL=C.UTF-8", True),
    ("Bash(git *)", "TZ=:/etc/passwd", False),
    ("Bash(git *)", "BASH_FUNC_x%%=() { y; }", False),
]


@pytest.mark.parametrize(("rule", "variable", "may"), VARIABLES)
def test_a_variable_is_named_as_an_option_is(rule, variable, may):
    """Most make some program another than the one that is granted."""
    name, _, value = variable.partition("=")

    said = refusal(["git", "log"], [rule], env={name: value})

    assert said is None if may else f"`env` sets {name}, which can make" in said


def test_a_cache_beside_an_operand_stays_in_the_project():
    """`py_compile` writes through a link that an archive brought."""

    def is_inside(path):
        return path != "a/__pycache__"

    rule = "Bash(python3 -I -m py_compile [] *)"
    command = ["python3", "-I", "-m", "py_compile"]
    assert refusal([*command, "b.py"], [rule], is_inside) is None
    assert "'a/__pycache__'" in refusal([*command, "a/b.py"], [rule], is_inside)


def test_a_long_argv_is_shown_in_part():
    said = refusal(["x", "y" * 10_000], ["Bash(pytest *)"])

    assert len(said) < 400
