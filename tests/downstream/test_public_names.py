"""What a program imports from `bridge`, and what docs/python.md says of it."""

import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bridge
import bridge.testing
from bridge import errors
from bridge.api import options, run_options
from bridge.cli.common.exit_codes import of_kind
from bridge.protocol.request import Request
from bridge.protocol.response import failed

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
FAILED = failed(Request(request_id="a", prompt="?"), "quota", "why", now_ms=5)
ERRORS = [
    found
    for name in bridge.__all__
    if isinstance(found := getattr(bridge, name), type)
    and issubclass(found, bridge.BridgeError)
]


def rows(*titles: str) -> dict[str, list[str]]:
    """The table below these words, by the name in its first column."""
    below = PAGE
    for title in titles:
        below = below.partition(title)[2]
    table = re.search(r"(?:^\|.*\n)+", below, re.M)
    lines = [re.split(r" \| ", line.strip("| ")) for line in table[0].splitlines()[2:]]
    return {cells[0].strip("`"): cells[1:] for cells in lines}


def test_every_error_is_public():
    own = [each for each in vars(errors).values() if isinstance(each, type)]

    assert {each for each in own if issubclass(each, Exception)} <= {*ERRORS}
    assert set(bridge.__all__) <= set(dir(bridge))


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_an_error_has_the_name_that_it_is_imported_by(kind):
    assert (kind.__module__, getattr(bridge, kind.__name__)) == ("bridge", kind)
    assert kind.__doc__


def test_the_page_tells_every_error():
    told = rows("## Errors", "With the exit code")

    kinds = {each.__name__: each for each in ERRORS if each is not bridge.BridgeError}
    assert set(told) == set(kinds)
    del told["RequestFailed"]
    expected = {
        name: [f"`{kinds[name].code}`", f"{of_kind(kinds[name])}"] for name in told
    }
    assert {name: cells[:2] for name, cells in told.items()} == expected


def test_the_page_of_tests_tells_every_name():
    """docs/testing.md is all that says what `bridge.testing` has."""
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()
    said = {*re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", page)))}
    said |= {*re.findall(r"^from bridge.testing import (.*)$", page, re.M)}

    kinds = {"Answering", "Outcome", "Replay", "Unscripted", "CODES"}
    assert {*bridge.testing.__all__} - kinds - said == set()


def test_a_traceback_names_what_to_import():
    script = (
        "from bridge import *\n"
        "from bridge.protocol.request import Request\n"
        "from bridge.protocol.response import failed\n"
        "r = Request(request_id='a', prompt='?')\n"
        "raise RequestFailed(failed(r, 'quota', 'why', now_ms=5))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )

    last = ran.stderr.splitlines()[-1]
    assert last.startswith("bridge.RequestFailed: request a failed: why")


@pytest.mark.parametrize(
    "error",
    [
        bridge.RequestFailed(FAILED),
        bridge.StateRefused(Path("/x"), "not safe", "remove it"),
        bridge.BadDefinition("name", ["problem"]),
        bridge.NoHost("none", stage="no_host"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_leaves_a_process_pool(error):
    """One that is made of something else than its message could not be rebuilt."""
    again = pickle.loads(pickle.dumps(error))  # noqa: S301

    assert (type(again), str(again)) == (type(error), str(error))
    assert again.__dict__ == error.__dict__


def written(annotation: str) -> str:
    """The type of an option, as the page writes it."""
    bare = re.sub(r"Annotated\[\s*([^,]*\S),.*", r"\1", annotation, flags=re.DOTALL)
    parts = [part for part in bare.split(" | ") if part != "None"]
    named: dict[str, Any] = {
        "Priority": '`"high"`, `"normal"`, `"low"`',
        "RouteChoice": '`"auto"`, `"host"`, `"claude"`, `"local"`, `"endpoint"`',
        "Mode": '`"terminal"`, `"headless"`, `"self"`',
        "OwnRoute": '`"claude"`, `"local"`, `"endpoint"`',
        "Policy": '`"abort"`, `"skip"`, `"ask"`',
        "ContextFrom": '`"session"`',
        "EscalateTo": '`"human"`, `"architect"`, `"coordinator"`, `"none"`',
    }
    return ", ".join(named.get(part, f"`{part}`") for part in parts)


KEYWORDS: dict[str, Any] = {
    "Of `ask` and `submit`": options.RequestOptions,
    "Only of `ask`": options.AskOptions,
    "Only of `submit`": options.SubmitOptions,
    "Of `wait`": options.WaitOptions,
    "Of `run` and `resume`": run_options.RunOptions,
    "Only of `validate`": run_options.ValidateOptions,
    "Only of `build_and_validate`": run_options.BuildOptions,
}
# What the page tells above a table that begins with "Only".
ABOVE: dict[str, Any] = {
    "Only of `ask`": options.RequestOptions,
    "Only of `submit`": options.RequestOptions,
    "Only of `validate`": run_options.RunOptions,
    "Only of `build_and_validate`": run_options.RunOptions,
}


@pytest.mark.parametrize("title", KEYWORDS)
def test_the_page_tells_every_keyword(title):
    known = {
        name: hint.__forward_arg__
        for name, hint in KEYWORDS[title].__annotations__.items()
        if title not in ABOVE or name not in ABOVE[title].__annotations__
    }

    told = {name: cells[0] for name, cells in rows("## The keywords", title).items()}
    assert told == {name: written(hint) for name, hint in known.items()}
