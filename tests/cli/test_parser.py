"""How options and arguments are told apart, in every command."""

import pytest
from optionlists import options_of

from bridge.cli.asking import ask, wait
from bridge.cli.commands import COMMANDS
from bridge.cli.common.error_report import wants_json
from bridge.cli.common.options import AS_JSON, COMMON, SHORT, option
from bridge.cli.common.parser import parse, parse_verb
from bridge.errors import InvalidRequest

A_TIME = "expected a time such as 90s, 5m or 1h30m, at least 0s, at most 30d"


@pytest.mark.parametrize(
    "words",
    [
        "-t 5m -m opus -r local -j x",
        "x -jt5m -mopus -rlocal",
        "x --timeout=5m --model opus --route=local --json",
    ],
)
def test_short_and_long_options_are_the_same(words):
    found = parse("hostbridge ask", ask.OPTIONS, words.split())

    assert (found.timeout_s, found.model, found.route) == (300, "opus", "local")
    assert (found.as_json, found.words) == (True, ["x"])


@pytest.mark.parametrize("name", sorted({*COMMANDS} - {"hook"}))
def test_a_short_option_means_the_same_in_every_command(name):
    """And none hides one that every command has."""
    options = [*options_of(name), *COMMON]

    short = {each.names[-1]: each.names[0] for each in options if each.names[1:]}
    assert short.items() <= SHORT.items()
    assert len({n for each in options for n in each.names}) == sum(
        len(each.names) for each in options
    )


@pytest.mark.parametrize(
    "prompt",
    [
        "--json or not?", "--what\nis this", "-t is what?", "-j\tor not", "- 1\n- 2",
        "--timeout\nis too short", "",
    ],
)  # fmt: skip
def test_words_with_white_space_are_a_prompt(prompt):
    """Whatever they begin with: nobody types an option like that."""
    found = parse("hostbridge ask", ask.OPTIONS, ["Plan", prompt, "--json"])

    assert (found.words, found.as_json) == (["Plan", prompt], True)


@pytest.mark.parametrize(
    ("words", "found"), [("-j -- --json", ["--json"]), ("set -1", ["set", "-1"])]
)
def test_after_two_dashes_everything_is_a_prompt_and_a_number_always(words, found):
    assert parse("hostbridge ask", ask.OPTIONS, words.split()).words == found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("x --text --json", "--json: cannot go with --text"),
        ("x --timeout -1", f"--timeout: {A_TIME}, got '-1'"),
        ("x --json=1", "--json: takes no value, got '1'"),
        ("x -j1", "--json: takes no value, got '1'"),
        ("x --timout 5", "no such option: --timout (did you mean --timeout?)"),
        ("x -C", "--directory: expected a value"),
    ],
)  # fmt: skip
def test_error_names_what_is_wrong(words, message):
    with pytest.raises(InvalidRequest) as caught:
        parse("hostbridge wait", wait.OPTIONS, words.split())

    assert str(caught.value) == f"wait: {message}; see `hostbridge wait --help`"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("x --json", True), ("x -j", True), ("-jt5m x", True), ("-aj", True),
        ("x --jason", False), ("-sobj.json x", False), ("-- --json", False),
    ],
)  # fmt: skip
def test_an_error_is_json_where_json_was_asked_for(words, expected):
    """Also where the rest could not be read."""
    assert wants_json(words.split()) is expected


@pytest.mark.parametrize(
    "words",
    ["-C ../other where", "where -C ../other", "-C .. where --directory other",
     "--directory ../other where"],
)  # fmt: skip
def test_another_folder_before_or_after_the_command(project, words):
    other = project.folder.with_name("other")
    (other / ".git").mkdir(parents=True)

    assert project.run(*words.split(), "--json").json["project"] == str(other)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", ("list", None, False)),
        ("-j", ("list", None, True)),
        ("--text show -j show 3", ("show", "3", True)),
        ("--text=show list", ("list", None, False)),
    ],
)
def test_options_may_stand_before_the_verb(words, found):
    """And the value of one is no verb."""
    text = option("--text", metavar="TEXT")
    verbs = {
        "list": (text, AS_JSON),
        "show": (text, option("task", metavar="TASK"), AS_JSON),
    }

    read = parse_verb("hostbridge task", verbs, words.split())

    assert (read.verb, getattr(read, "task", None), read.as_json) == found
