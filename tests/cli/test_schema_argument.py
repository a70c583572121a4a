"""What `--schema` takes: a file, JSON itself, or a pydantic model of the user."""

import json
import sys

import pytest
from fakeclaude import fake_claude, printing, result

SCHEMA = {"type": "object", "required": ["modules"]}
CODE = """\
from pydantic import BaseModel, field_validator

class Modules(BaseModel):
    modules: list[str]

    @field_validator("modules")
    @classmethod
    def not_empty(cls, value):
        assert value, "name one"
        return value

class Outer:
    class Inner(BaseModel):
        name: str

def helper(): ...
"""


def asked_schema(project, *words: str):
    ran = project.run("submit", "Which?", *words)
    assert (ran.code, ran.err) == (0, ""), ran
    return project.bridge.status(ran.out.strip()).request.answer_schema


def test_the_schema_itself(project):
    assert asked_schema(project, "-s", json.dumps(SCHEMA, indent=1)) == SCHEMA


def test_a_file_goes_before_the_other_forms(project):
    (project.folder / "models:Modules").write_text(json.dumps(SCHEMA))

    assert asked_schema(project, "--schema", "models:Modules") == SCHEMA


@pytest.mark.parametrize(
    "name", ["models:Modules", "models:Outer.Inner", "pkg.m:Modules"]
)
def test_a_pydantic_model_of_the_working_folder(project, name):
    """Nothing but its JSON Schema goes into the request."""
    (project.folder / "pkg").mkdir()
    for file in ("models.py", "pkg/m.py"):
        (project.folder / file).write_text(CODE)

    schema = asked_schema(project, "--schema", name)

    assert schema["title"] == name.rpartition(":")[2].rpartition(".")[2]


def test_the_answer_is_checked_by_the_model_itself(project, claude):
    """Its validators know what no JSON Schema can say."""
    (project.folder / "models.py").write_text(CODE)
    words = ("ask", "-r", "claude", "-s", "models:Modules", "--text", "Which?")
    good, bad = [
        fake_claude(claude, printing(result(structured_output={"modules": each})))
        and project.run(*words)
        for each in (["billing"], [])
    ]

    assert (good.code, json.loads(good.out)) == (0, {"modules": ["billing"]})
    bad.refuses(1, "name one")


WRONG = {
    "nope:Modules": "no module 'nope' in {folder}, and none is installed",
    "models:Modlues": "{folder}/models.py has no Modlues; did you mean models:Modules?",
    "models:helper": "expected a pydantic model (a class), got function",
    "models:Outer": "expected a pydantic model (a class), got Outer",
    "broken:X": "{folder}/broken.py:2: ZeroDivisionError: division by zero",
    "leaves:X": "{folder}/leaves.py:1: SystemExit: 3",
    "wrong:X": "{folder}/wrong.py:1: SyntaxError: invalid syntax (wrong.py, line 1)",
    "needs:X": "{folder}/needs.py:1: No module named 'nowhere_at_all'; hostbridge runs "
    f"in {sys.executable}: install it there, or give the schema as a file",
}


@pytest.mark.parametrize("name", WRONG)
def test_error_a_model_that_cannot_be_had(project, name):
    """Where in the user's own code it failed."""
    (project.folder / "models.py").write_text(CODE)
    (project.folder / "broken.py").write_text("x = 1\nx / 0\n")
    (project.folder / "leaves.py").write_text("raise SystemExit(3)\n")
    (project.folder / "wrong.py").write_text("class X(:\n")
    (project.folder / "needs.py").write_text("import nowhere_at_all\n")

    ran = project.run("submit", "Which?", "--schema", name)

    ran.fails(2, f"--schema {name}: {WRONG[name].format(folder=project.folder)}")


def test_a_module_of_the_project_replaces_none_of_ours(project):
    """The folder is searched for the named module alone, and only while it loads."""
    (project.folder / "models.py").write_text(CODE)
    for name in ("difflib", "shlex", "rich", "textwrap"):
        (project.folder / f"{name}.py").write_text("raise SystemExit('taken over')\n")

    # As the installed program starts: with `-m`, Python itself searches the folder.
    start = (sys.executable, "-P", "-m", "bridge", "submit", "two", "words")
    ran = project.program(*start, "--schema", "models:Modules")

    assert (ran.code, "taken over" in ran.err) == (2, False)
