"""What a command is said to start, and what a real shell then starts."""

import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stand_ins import PROGRAMS, make_world, really_started
from thoroughness import examples
from tricky_commands import HERE, TRICKY, UNSEEN

from bridge.policy.command_reading import Reading
from bridge.policy.condition import MAY
from bridge.policy.started_programs import read


def reading(command: str) -> Reading:
    return read(command)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("shell"))


@pytest.mark.parametrize("case", TRICKY, ids=lambda case: case.command)
def test_a_command_runs_what_its_text_starts(case):
    found = reading(case.command)
    answers = {name: found.runs([name]) for name in PROGRAMS}

    assert {name for name in PROGRAMS if answers[name] is True} == {*case.runs.split()}
    assert {name for name in PROGRAMS if answers[name] is MAY} == {*case.may.split()}


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in TRICKY
        if case.real != UNSEEN
        and (case not in HERE or shutil.which(case.command.split()[0]))
    ],
    ids=lambda case: case.command,
)
def test_bash_starts_nothing_that_was_denied(case, world, tmp_path):
    """The table's own words are checked: a real bash runs each command."""
    started = really_started(case.command, world, tmp_path)

    real = case.runs if case.real is None else case.real
    assert started == set(real.split())
    assert started <= {*case.runs.split(), *case.may.split()}


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("parallel git ::: pull push", True), ("echo push | parallel git", MAY),
        ("alias g=git\ng push", MAY), ("alias s='git status'\ns push", False),
    ],
)  # fmt: skip
def test_what_comes_behind_a_program_is_a_part_of_its_name(command, answer):
    assert reading(command).runs(["git push"]) is answer


def single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def double(text: str) -> str:
    for sign in '\\"$`':
        text = text.replace(sign, f"\\{sign}")
    return f'"{text}"'


simple = st.sampled_from(PROGRAMS).flatmap(
    lambda name: st.sampled_from(
        [
            name, f"'{name}' -q", f"{name[0]}''{name[1:]}", f"\\{name}",
            f"./bin/{name}", f'"$PWD/bin/{name}" x', f"$'{name}'", f"echo {name}",
            f"X={name} true", f"echo '{name}'", ":", "false", "$X", f"${{Y:-{name}}}",
            f">out {name} a\\ b", f"A=1 B='c d' {name}",
        ]
    )
)  # fmt: skip
ONE = [
    "({})", "{{ {}; }}", "echo $({})", 'echo "$({})"', "cat <<EOF\n$({}) x\nEOF\n",
    "cat <<'EOF'\n{}\nEOF\n", "bash <<EOF\n{}\nEOF\n", "cat <({})", "echo x > >({})",
    "! {}", "time {}", "f() {{ {}; }}; f", "function g {{ {}; }}; g x", "env A=1 {}",
    "nice {}", "timeout 5 {}", "echo a | xargs {}", "find . -maxdepth 0 -exec {} \\;",
    "exec {}", "command {}", "X=$({})", "[[ -n $({}) ]]", "a=({})",
    "echo ${{Z:-$({})}}",
    "for i in a b; do {}; done", "{} 2>&1 >/dev/null", "pytest() {{ {}; }}; pytest",
]  # fmt: skip
TWO = [
    "{} && {}", "{} || {}", "{}; {}", "{} | {}", "{} & {}", "{}\n{}", "{} # {}",
    "{} \\\n  {}", "if {}; then {}; fi", "case a in a) {};; *) {};; esac",
    "while {}; do {}; break; done", "f() {{ {}; }}; {}", "{} > out_$({}) </dev/null",
    "ruff() {{ {}; }}; {}",
]  # fmt: skip


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quoted = ["bash -c {}", "eval {}", "bash <<< {}", "trap {} EXIT"]
    return st.one_of(
        st.builds(str.format, st.sampled_from(ONE), inner),
        st.builds(str.format, st.sampled_from(TWO), inner, inner),
        st.builds(str.format, st.sampled_from(quoted), inner.map(single)),
        inner.map(lambda text: f"sh -c {double(text)}"),
    )


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(command=st.recursive(simple, grown, max_leaves=5))
def test_bash_never_starts_what_was_ruled_out(command, world, tmp_path_factory):
    """Commands that nobody thought of: no rule may miss what a shell then does."""
    started = really_started(command, world, tmp_path_factory.mktemp("run"))

    assert [name for name in started if reading(command).runs([name]) is False] == []
