"""Rules that name the options: what they cover, and what a denial says."""

import os
import re
import shlex
import shutil
import subprocess

import pytest
from grants import PROJECT, granted, resolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thoroughness import examples

from bridge.policy.command_grants import Grants, NotGranted
from bridge.policy.command_options import GRAMMAR, pattern_of, read_named
from bridge.policy.permission_rules import parse_rule
from bridge.policy.permissions import Call, is_granted, why_not_granted

RULE = "Bash(pytest [-q -x --lf -k=* --tb=short --tb=line --cov --cov=* -p=no:*] *)"
CLOSED = "Bash(tox [-q -e=*])"
GO = "Bash(go test [-v -run=* -x] *)"


def is_inside(path: str) -> bool:
    return resolve(path).startswith(PROJECT)


def covered(rule: str, command: str) -> bool:
    """By both readers of rules: the hooks' and the loop's."""
    found = granted(rule, tool="Bash", command=command)
    try:
        Grants([rule], is_inside).argv(command)
    except NotGranted:
        assert not found
    else:
        assert found, "the loop grants more than the hooks"
    return found


def why_not(rule: str, command: str) -> str | None:
    call = Call("Bash", {"command": command}, PROJECT, resolve)
    return why_not_granted([rule], call)


COVERED = [
    "pytest", "pytest -q", "pytest -qx", "pytest -xqk 'a or b'", "pytest -kfoo",
    "pytest -k=foo", "pytest --tb=short", "pytest --tb line tests", "pytest --cov",
    "pytest --cov tests", "pytest --cov=src -q", "pytest --cov -q",
    "pytest -p no:x", "pytest tests -q other", "pytest '-q' tests/a.py::test_b",
    "pytest -", "pytest 'tests/a.py::test_b[1]'", "pytest src/../tests",
    "pytest /w/app/tests",
]  # fmt: skip


@pytest.mark.parametrize("command", COVERED)
def test_covered(command):
    assert covered(RULE, command)


NOT_GRANTED = [
    (RULE, "pytest --fix", "--fix", "not", "--fix"),
    (RULE, "pytest --basetemp=/x", "--basetemp", "not", "--basetemp=*"),
    (RULE, "pytest -qp evil", "-p", "only as -p=no:*", "-p=*"),
    (RULE, "pytest -qc x", "-c", "not", "-c"),
    (RULE, "pytest -xq=1", "-q", "only as -q", "-q=*"),
    (RULE, "pytest --l", "--l", "not", "--l"),
    (RULE, "pytest --lf=x", "--lf", "only as --lf", "--lf=*"),
    (RULE, "pytest --tb=long", "--tb", "only as --tb=short or --tb=line", "--tb=*"),
    (RULE, "pytest -- -c x", "--", "not", "--"),
    (RULE, "pytest +x", "+x", "not", "+x"),
    (GO, "go test -vx", "-vx", "not", "-vx"),
    (GO, "go test --run=A", "--run", "not", "--run=*"),
    ("Bash(sh -n [] *)", "sh -n -c x", "-c", "not", "-c"),
]
OUTSIDE = "{!r} lies outside the project"
EXPANDED = "unquoted, a shell would expand {!r}; put the word in quotes"
NO_VALUE = "the option --tb lacks its value; write --tb=VALUE"
NO_OPERAND = "it covers no operand, and 'x' is one"
NOT_COVERED = [
    (RULE, "pytest --tb -q", NO_VALUE),
    (RULE, "pytest --tb", NO_VALUE),
    (RULE, "pytest /etc", OUTSIDE.format("/etc")),
    (RULE, "pytest ../x", OUTSIDE.format("../x")),
    (RULE, "pytest a=../../x", OUTSIDE.format("a=../../x")),
    (RULE, "pytest a:/x", OUTSIDE.format("a:/x")),
    (RULE, "pytest --cov=/x", OUTSIDE.format("/x")),
    (RULE, "pytest -k/x", OUTSIDE.format("/x")),
    (RULE, "pytest '~/x'", OUTSIDE.format("~/x")),
    (RULE, "pytest @x", "'@x' may name a file of options, which is not covered"),
    (RULE, "pytest {-c,x}", EXPANDED.format("{")),
    (RULE, "pytest t*", EXPANDED.format("*")),
    # The text of the rule itself, which a shell would expand to file names.
    (RULE, RULE[5:-1], EXPANDED.format("[")),
    (RULE, "pytest ~/x", EXPANDED.format("~")),
    (RULE, "pytest =ls", EXPANDED.format("=")),
    (CLOSED, "tox x", NO_OPERAND),
    (CLOSED, "tox -q x", NO_OPERAND),
]


@pytest.mark.parametrize(("rule", "command", "option", "how", "named"), NOT_GRANTED)
def test_error_a_denial_names_the_option_and_the_rule(
    rule, command, option, how, named
):
    start, options, _ = re.split(r"\[(.*)\]", rule)
    end = " *)" if rule.endswith(" *)") else ")"
    more = f"… {named}" if options else named

    check_denial(rule, command, (
        f"the option {option} is {how} granted; a rule for it: {start}[{more}]{end}"
    ))  # fmt: skip


@pytest.mark.parametrize(("rule", "command", "why"), NOT_COVERED)
def test_error_a_denial_says_what_is_not_covered(rule, command, why):
    check_denial(rule, command, why)


def check_denial(rule, command, why):
    """Both readers of rules say the same."""
    assert not covered(rule, command)
    assert why_not(rule, command) == why
    with pytest.raises(NotGranted) as caught:
        Grants([rule], is_inside).argv(command)
    assert str(caught.value) == f"{command!r} is not granted: {why}"


OTHER_FORMS = {
    "tox -e py311": CLOSED,
    "tox -epy311 -q": CLOSED,
    "go test -v -run=A ./...": GO,
    "go test -run A ./...": GO,
}


@pytest.mark.parametrize("command", OTHER_FORMS)
def test_other_forms_that_are_covered(command):
    assert covered(OTHER_FORMS[command], command)


@pytest.mark.parametrize(
    "command", ["pytests", "X=1 pytest", "sudo pytest", "pytest; ls", "ruff -q"]
)
def test_a_denial_of_another_command_does_not_name_the_rule(command):
    assert not covered(RULE, command)
    assert why_not(RULE, command) is None


def test_a_link_out_of_the_project_is_not_covered(tmp_path):
    """The operand looks like a path in the project."""
    project = tmp_path / "app"
    project.mkdir()
    (project / "out").symlink_to("/etc")
    for folder, command in ((project, "pytest out/x.py"), (tmp_path, "pytest")):
        call = Call(
            "Bash",
            {"command": command},
            str(project),
            lambda path, at=folder: os.path.realpath(os.path.join(at, path)),
        )
        assert not is_granted([RULE], call)


BAD_RULES = [
    ("Bash(pytest [-q -x)", GRAMMAR),
    ("Bash(pytest [-q] tests)", GRAMMAR),
    ("Bash(pytest [-q]*)", GRAMMAR),
    ("Bash(py* [-q] *)", GRAMMAR),
    ("Bash(pytest [-q x] *)", f"'x' is no option: {GRAMMAR}"),
    ("Bash(pytest [-q -k*] *)", f"'-k*' is no option: {GRAMMAR}"),
    ("Bash(pytest [-q -k=] *)", f"'-k=' is no option: {GRAMMAR}"),
]


@pytest.mark.parametrize(("rule", "problem"), BAD_RULES)
def test_error_in_the_options_of_a_rule(rule, problem):
    """It is an error when the file is read, and grants nothing."""
    assert parse_rule(rule) == problem
    assert not covered(rule, "pytest -q")


@pytest.mark.parametrize("spec", ["test [ -f x ]", "pytest a[1]", "pytest *"])
def test_other_brackets_are_plain_characters(spec):
    assert read_named(spec) is None


WORDS = st.sampled_from(
    ["-q", "-x", "-qx", "-c", "-qc", "--lf", "--l", "--tb", "--tb=short", "short", "-p",
     "-p=no:x", "-pno:x", "no:x", "evil", "-k", "-kx", "--cov", "--cov=a", "--", "a"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=5))
def test_getopt_and_argparse_find_no_other_option(words):
    """However a program reads the words, it finds only the options of the rule."""
    if not covered(RULE, shlex.join(["pytest", *words])):
        return

    for word in words:
        if word.startswith("--"):
            assert word.partition("=")[0] in ("--lf", "--tb", "--cov")
        elif word.startswith("-"):
            assert re.fullmatch("-[qx]*(k.*|p(=?no:.*)?)?", word)
    assert "evil" not in words or words[words.index("evil") - 1] != "-p"


PATTERNS = [
    (RULE, "pytest", True),
    (RULE, "pytest -q --tb=short -k=a tests/a.py::b ./src/", True),
    (RULE, "pytest --cov=src/bridge -p=no:x .", True),
    (RULE, "pytest -c", False),
    (RULE, "pytest ../x", False),
    (RULE, "pytest /x", False),
    (RULE, "pytest" + " -q" * 7, False),
    (RULE, "pytest" + " a" * 7, False),
    (CLOSED, "tox -q -e=py311", True),
    (CLOSED, "tox a", False),
    ("Bash(go vet [] *)", "go vet ./...", True),
    ("Bash(go vet [] *)", "go vet -v", False),
]


@pytest.mark.parametrize(("rule", "command", "is_allowed"), PATTERNS)
def test_the_pattern_for_a_model(rule, command, *, is_allowed):
    named = read_named(rule[5:-1])

    assert bool(re.fullmatch(pattern_of(named), command)) is is_allowed


@given(st.from_regex(pattern_of(read_named(RULE[5:-1])), fullmatch=True))
def test_the_pattern_for_a_model_allows_only_covered_commands(command):
    assert covered(RULE, command), command


@pytest.mark.parametrize("shell", ["bash", "sh", "zsh"])
@given(words=st.lists(st.text("-qk=a.~*?[]{,}#\\'\" ^!:@", max_size=6), max_size=3))
@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_shell_passes_on_the_words_that_were_checked(shell, words, tmp_path):
    """In a folder whose files are named like options."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    command = " ".join(["pytest", *words])
    if not covered("Bash(pytest [-q -k=*] *)", command):
        return
    for name in ("-c", "--basetemp=x", "-qc", "a"):
        (tmp_path / name).touch()
    script = f"pytest() {{ printf '%s\\0' \"$@\"; }}\n{command}\n"

    ran = subprocess.run(
        [shell, "-c", script], cwd=tmp_path, capture_output=True, check=False
    )

    argv = shlex.split(command)[1:]
    assert ran.stdout.decode() == ("\0".join([*argv, ""]) if argv else "\0")


IN_A_FOLDER = [
    ("cd src && pytest -q ../tests", None),
    (f"cd {PROJECT}/src  &&  pytest", None),
    ("cd .. && pytest", ("it would start outside the folder that this agent works in; "
     f"begin it with `cd {PROJECT} && `")),
    ("cd src && pytest ../../x", "'../../x' lies outside the project"),
    ("cd src && pytest -o x=y", ("the option -o is not granted; a rule for it: "
     "Bash(pytest [… -o] *)")),
]  # fmt: skip


@pytest.mark.parametrize(("command", "why"), IN_A_FOLDER)
def test_a_rule_covers_its_command_in_a_folder_of_the_project(command, why):
    call = Call("Bash", {"command": command}, PROJECT, resolve)

    assert is_granted([RULE], call) is (why is None)
    assert why_not_granted([RULE], call) == why


@pytest.mark.parametrize(
    "command",
    [
        "cd - && pytest", "cd && pytest", "cd src && pytest && rm x", "cd $X && pytest",
        "cd src; pytest", "cd src && cd .. && pytest", "cd ~ && pytest",
        "cd src && env pytest", "cd src &&\npytest", "cd src || pytest",
    ],
)  # fmt: skip
def test_nothing_else_stands_before_or_behind_a_command(command):
    assert not granted(RULE, tool="Bash", command=command)
