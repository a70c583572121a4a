"""The files that a subagent definition names: their paths and their scripts."""

# ruff: noqa: E501 - whole messages, one a line

import sys
from pathlib import Path

import pytest
from agentworld import LINT, lint_problems

from bridge.agents.files import Reader
from bridge.errors import BadDefinition
from bridge.extras import how_to_add

BAD_PATHS = {
    '"~nosuchuser/x.gguf"': "'~nosuchuser/x.gguf': there is no such user",
    r'"a\0b.gguf"': r"'a\x00b.gguf': a path cannot contain NUL",
}


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize("written", BAD_PATHS)
@pytest.mark.parametrize("field", ["pym", "context_providers", "model"])
def test_error_an_impossible_path(world, field, written):
    """It must not end the commands that list all definitions."""
    olds = {
        "pym": ("tools/run.pym", "tools[0].pym", 10),
        "context_providers": ("tools/config.pym", "tools[0].context_providers[0]", 13),
        "model": ("models/lint.gguf", "model", 2),
    }
    old, place, line = olds[field]

    problems = lint_problems(world, old, written)

    assert problems == [f"lint.yaml:{line}: {place}: {BAD_PATHS[written]}"]


def test_paths_are_relative_to_the_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/u")
    written = ("a.pym", "../a.pym", "./b/../a.pym", "/z/a.pym", "~/a.pym")

    found = map(Reader(Path("/x/y"), is_confined=False).resolve, written)

    meant = "/x/y/a.pym /x/a.pym /x/y/a.pym /z/a.pym /home/u/a.pym"
    assert [*map(str, found)] == meant.split()


@pytest.mark.parametrize("how", ["dots", "absolute", "link", "linked folder"])
def test_error_a_projects_path_leads_out_of_it(world, tmp_path, how):
    """A clone could otherwise show any file of its user to a model."""
    folder = world.folders["project"]
    for name in ("models/lint.gguf", "tools/config.pym", "tools/submit.pym"):
        world.write(name, "'x'", "project")
    secret = tmp_path / "secret" / "run.pym"
    secret.parent.mkdir()
    secret.write_text("'secret'")
    named = {
        "dots": "../../../secret/run.pym",
        "absolute": str(secret),
        "link": "tools/run.pym",
        "linked folder": "linked/run.pym",
    }[how]
    (folder / "tools" / "run.pym").symlink_to(secret)
    (folder / "linked").symlink_to(secret.parent)

    found = world.load("lint.yaml", LINT.replace("tools/run.pym", named), "project")

    [problem] = found.errors
    assert problem.message.endswith(f"is outside {folder}; move it there")
    assert problem.path == "tools[0].pym"
    assert secret not in found.digests


NO_SCRIPTS = {
    "x = (\n1\n": "3: not a script: unexpected EOF while parsing",
    "\ndef f(:\n    pass": "2: not a script: Expected a parameter or the end of the parameter list",
    "if path:\n    break": "2: not a script: 'break' outside loop",
    "x = 1\ndel x": "2: not a script: The monty syntax parser does not yet support the 'del' statement",
    "(" * 10_000: "1: not a script: Source is too deeply nested",
}


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize("code", NO_SCRIPTS, ids=lambda code: code[:20])
def test_error_in_a_script(world, code):
    """At its own line, by the check and before a run."""
    pytest.importorskip("pydantic_monty")
    script = world.write("tools/config.pym", code)

    assert world.problems("lint.yaml", LINT) == [f"tools/config.pym:{NO_SCRIPTS[code]}"]
    with pytest.raises(BadDefinition) as caught:
        world.registry.find("lint")
    told = f"agent 'lint' cannot be used:\n  {script}:{NO_SCRIPTS[code]}"
    assert (caught.value.code, str(caught.value)) == ("bad_definition", told)


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize(
    "code", ["while True:\n    pass", "1 / 0", "run_command('x')", ""]
)
def test_scripts_are_not_run(world, code):
    pytest.importorskip("pydantic_monty")
    world.write("tools/run.pym", code)

    assert world.problems("lint.yaml", LINT) == []


@pytest.mark.usefixtures("lint")
def test_problems_of_the_file_itself_come_first(world):
    pytest.importorskip("pydantic_monty")
    world.write("a.pym", "missing")
    text = LINT.replace("tools/run.pym", "a.pym").replace("name: lint", "name: lnt")

    first, second = world.problems("lint.yaml", text)

    assert (first.partition(":")[0], second.partition(":")[0]) == ("lint.yaml", "a.pym")


def no_program(*_args, **_more):
    raise FileNotFoundError("could not locate the `monty` binary")


PROGRAM = "the program `monty` (pydantic-monty-runtime)"
MISSING = {
    "pydantic-monty": lambda patch: patch.setitem(sys.modules, "pydantic_monty", None),
    PROGRAM: lambda patch: patch.setattr("pydantic_monty.Monty", no_program),
    f"{PROGRAM} ": lambda patch: patch.setenv("MONTY_BIN", "/nonexistent"),
}


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize("missing", MISSING)
def test_a_warning_if_scripts_cannot_be_checked(world, monkeypatch, missing):
    pytest.importorskip("pydantic_monty")
    MISSING[missing](monkeypatch)
    world.write("tools/run.pym", "x = (")

    (problem,) = world.problems("lint.yaml", LINT)

    assert problem == (
        "lint.yaml:8: warning: tools: their scripts were not checked: "
        f"{missing.strip()} is not installed; run: {how_to_add('local')}"
    )
