"""What a terminal shows: its width holds every line, and colours can be off."""

import pytest
from screens import on_terminal, too_wide
from thoroughness import crossed
from trustworld import Terminal

pytestmark = pytest.mark.slow

QUESTION = "Which modules under src/ have no test at all, and why is that so?"


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_terminal_of_any_width_holds_every_line(project, host, columns):
    """As the terminal itself says; COLUMNS says it for others."""
    request_id = project.submit(QUESTION, agent="Explore")
    host.claim()

    shown = on_terminal(project, "status", columns=columns)
    asked = on_terminal(project, "status", columns=100, COLUMNS=str(columns))

    sick = on_terminal(project, "doctor", columns=columns)

    assert too_wide(shown, columns) == []
    assert too_wide(sick, columns) == []
    assert "Do this first: hostbridge install" in sick
    assert "\x1b[1mSESSION" in shown
    assert too_wide(asked, columns) == []
    assert asked.splitlines()[6].startswith(request_id)
    assert f"\n{request_id}  \x1b[32mrunning\x1b[0m  " in shown


@pytest.mark.parametrize(
    ("command", "how"),
    crossed(
        ["status", "agents", "doctor", "schema"],
        [(["--no-color"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})],
    ),
    ids=str,
)
def test_no_colour(project, command, how):
    words, env = how
    shown = on_terminal(project, command, *words, columns=80, **env)

    assert "\x1b" not in shown
    assert "\x1b" not in project.run(command, *words, env=env).out


@pytest.mark.parametrize("no_color", ["", "1"], ids=["colour", "none"])
def test_the_live_table_follows(project, no_color):
    """The escapes that draw stay; those that colour go."""
    env = {"TERM": "xterm", "COLUMNS": "80", "NO_COLOR": no_color}
    terminal = Terminal(project, "status", "--watch", **env)
    terminal.read_until("nothing was ever asked")
    terminal.type("\x03")
    terminal.end()

    assert ("\x1b[1m" in terminal.seen) is not bool(no_color)


def test_error_a_live_table_on_a_dumb_terminal(project):
    shown = on_terminal(project, "status", "--watch", columns=200, TERM="dumb")

    assert shown == (
        "hostbridge: --watch redraws the screen, which this terminal cannot "
        "(TERM=dumb); add --json\n"
    )


def test_colour_in_a_pipe_only_where_it_is_forced(project):
    assert "\x1b" not in project.run("status").out
    assert "\x1b[1m" in project.run("status", env={"CLICOLOR_FORCE": "1"}).out
