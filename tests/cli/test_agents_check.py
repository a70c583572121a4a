"""`hostbridge agents check`: every problem, with its file, line and path."""

import needs
import pytest
from agentworld import define, trust_project

from bridge.shipped import agents_folder


@pytest.mark.parametrize("what", ["everything", "file"])
def test_check_says_what_is_not_trusted(project, what):
    file = define(project, "worker.yaml", "name: worker\nprompt: '{{ task }}'\n")
    words = ("agents", "check", *([str(file)] if what == "file" else []))
    built_in = list(agents_folder().glob("*.yaml"))
    count = 1 if what == "file" else len(built_in) + 1
    looked = f"{count} looked at: 0 errors, 0 warnings\n"

    ran = project.run(*words)
    trust_project(project.bridge)

    mark = "not trusted: worker; look with: hostbridge trust\n"
    assert ran == (0, looked + mark, "")
    assert project.run(*words) == (0, looked, "")


@pytest.mark.parametrize("what", ["file", "folder"])
def test_check_a_path(project, what):
    """Before it is put anywhere; relative to where one is."""
    folder = project.folder / "drafts"
    folder.mkdir()
    (folder / "a.yaml").write_text("name: a\ntols: [Read]\nmodel: gone.gguf\n")
    (folder / "notes.txt").write_text("not one of them")

    ran = project.run(
        "agents", "check", "drafts/a.yaml" if what == "file" else "drafts"
    )

    models = project.bridge.settings.home / "models"
    ran.prints(
        1,
        f"{folder}/a.yaml:2: tols: unknown field; did you mean 'tools'?\n"
        f"{folder}/a.yaml:3: warning: model: there is no {folder}/gone.gguf "
        f"and no {models}/gone.gguf yet\n1 looked at: 1 error, 1 warning\n",
    )


@pytest.mark.parametrize("layer", ["user", "project"])
def test_check_finds_a_model_where_a_run_finds_it(project, layer):
    """In the models of the user, too, and with no word about where it is not."""
    file = define(project, "a.yaml", "name: a\nmodel: small.gguf\n", layer=layer)
    project.write("models/small.gguf", "GGUF", own=True)

    ran = project.run("agents", "check", str(file))

    assert ran.code == 0
    assert ran.out.startswith("1 looked at: 0 errors, 0 warnings\n")


@pytest.mark.parametrize(
    ("routes", "code", "mark"), [("[local]", 1, ""), ("[host, local]", 0, "warning: ")]
)
def test_check_names_a_schema_that_no_model_can_be_held_to(project, routes, code, mark):
    """Where nobody else could answer it is an error, before anything is asked."""
    needs.local_model()
    odd = "{type: string, pattern: '(?=a)b'}"
    schema = f"output_schema: {{type: object, properties: {{a: {odd}}}}}\n"
    file = define(project, "a.yaml", f"name: a\nroutes: {routes}\n{schema}")

    ran = project.run("agents", "check", str(file))

    assert ran.code == code
    said = f"{file}:3: {mark}output_schema.properties.a: a local model cannot be "
    assert ran.out.startswith(said)


@pytest.mark.parametrize("tool", [0, 1])
def test_check_names_the_line_of_a_tools_parameters(project, tool):
    """Once, also where it is the form of the answer."""
    needs.local_model()
    forms = ["{type: object, additionalProperties: false}"] * 2
    odd = "properties: {a: {type: string, pattern: '(?=a)b'}}"
    forms[tool] = f"{{type: object, additionalProperties: false, {odd}}}"
    file = define(
        project,
        "counter.yaml",
        "name: counter\nmodel: counter.gguf\n"
        "initial_context: {system_prompt: You count., node_context: Count.}\ntools:\n"
        f"- {{name: a, pym: a.pym, description: x,\n   parameters: {forms[0]}}}\n"
        "- {name: submit_result, pym: a.pym, description: x,\n"
        f"   parameters: {forms[1]}}}\n",
        layer="user",
    )
    for name in ("a.pym", "counter.gguf"):
        (file.parent / name).write_text("1")

    ran = project.run("agents", "check", str(file))

    said = f"{file}:{6 + 2 * tool}: warning: tools[{tool}].parameters.properties.a: "
    assert ran.code == 0
    assert ran.out.startswith(f"{said}a local model cannot be held to it: ")
    assert ran.out.endswith("\n1 looked at: 0 errors, 1 warning\n")


def test_check_json(project):
    file = define(project, "a.yaml", "name: a\ntols: [Read]\n")

    ran = project.run("agents", "check", "--json")

    place = {"file": str(file), "line": 2, "path": "tols"}
    message = "unknown field; did you mean 'tools'?"
    assert (ran.code, ran.json) == (1, {**place, "level": "error", "message": message})


def test_check_names_workflows_that_are_not_there(project):
    """Looked for where the agent would look: its own folder's, and those below."""
    text = (
        "name: releaser\nprompt: '{{ task }}'\nworkflows:\n"
        "  patch: {file: release-patch.yaml}\n  plan: {file: task-expansion.yaml}\n"
        "default_workflow: patch\n"
    )
    file = define(project, "releaser.yaml", text, layer="user")

    ran = project.run("agents", "check", str(file))

    assert ran.code == 0, ran
    assert ran.out == (
        f"{file}:4: warning: workflows.patch.file: there is no workflow "
        "'release-patch' yet\n1 looked at: 0 errors, 1 warning\n"
    )


MARKDOWN = "---\nname: deep\ndescription: d\n---\nx\n"


@pytest.mark.parametrize(
    ("command", "file", "text"),
    [
        ("agents", "agents/mine/deep.yaml", "name: deep\n"),
        ("agents check", "agents/mine/deep.md", MARKDOWN),
        ("flow list", "flows/mine/deep.flow", "researcher\n"),
        ("workflow list", "workflows/mine/more/deep.yaml", "name: deep\n"),
    ],
)
def test_files_in_sub_folders_are_said_to_be_unread(project, command, file, text):
    """Nobody wants an agent that is not there for no reason that is told."""
    project.write(file, text, own=True)
    project.write("agents/mine/README.md", "# No agent\n", own=True)
    project.write("agents/mine/data.yaml", "of: an agent\n", own=True)

    ran = project.run(*command.split())

    folder = project.bridge.settings.home / file.partition("/")[0]
    said = "sub-folders are not read: 1 file in it would have to be in"
    assert f"{folder}/mine: {said} {folder}\n" in ran.err
