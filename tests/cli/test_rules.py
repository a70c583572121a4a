"""`hostbridge rules`: what there is, what is wrong, what would happen."""

import json
import re

import pytest
from screens import on_terminal
from trustworld import agree

from bridge.rules.compiled import compile_rules

pytestmark = [pytest.mark.usefixtures("home"), pytest.mark.slow]

RULES = """\
variables: {validation_model: haiku}
on_before_tool:
  - name: delegate-checks
  - name: no-push
    when: runs(command, "git push") and not variables.may_push
    block: Ask before {{ command }}.
on_user_prompt:
  - inject_context: You are asked for {{ prompt }}.
"""

RUNS = 'runs(command, "pytest", "ruff", "mypy", "tox", "nox")'


@pytest.fixture
def project_rules(project):
    text = "on_stop: [{block: x, when: not dine}]\n"
    return project.write(".bridge/rules.yaml", text)


def test_list_shows_every_layer(project, home, project_rules):
    ran = project.run("rules")

    file = home / "rules.yaml"
    assert [line.split("\t") for line in ran.out.splitlines()] == [
        ["EVENT", "RULE", "DOES", "STATE", "WHERE"],
        ["on_before_tool", "require-task", "block", "off", "built-in"],
        ["on_before_tool", "delegate-checks", "spawn_agent validation-runner", "on",
         f"{file}:3"],
        ["on_before_tool", "no-push", "block", "on", f"{file}:4"],
        ["on_stop", "on_stop[0]", "block", "not trusted", f"{project_rules}:1"],
        ["on_user_prompt", "on_user_prompt[0]", "inject_context", "on", f"{file}:8"],
    ]  # fmt: skip


def test_check_finds_every_problem_and_says_what_is_not_trusted(
    project, home, project_rules
):
    with (home / "rules.yaml").open("a") as file:
        file.write("  - spawn_agent: {agent: validation-runer, prompt: x}\n")

    ran = project.run("rules", "check")

    assert ran.code == 1
    first, second, *rest = ran.out.splitlines()
    assert first == (
        f"{home}/rules.yaml:9:19: on_user_prompt[1].spawn_agent.agent: no agent is "
        "named 'validation-runer'; did you mean validation-runner or "
        "validator-security or validator-syntax?"
    )
    assert second == (
        f"{project_rules}:1:32: on_stop[0].when: unknown name 'dine'; a variable that "
        "nobody declares is variables.dine"
    )
    assert rest == [
        "    on_stop: [{block: x, when: not dine}]",
        "                                   ^",
        "5 rules in 2 files: 2 errors, 0 warnings",
        (
            f"{project_rules} is not trusted as it is; its rules do nothing; "
            "look at it, and agree: hostbridge trust"
        ),
    ]


def test_test_explains_each_part_and_the_answer(project):
    ran = project.run("rules", "test", "--command", "cd x && git push -f")

    file = "~/.hostbridge/rules.yaml"
    assert ran.code == 0
    assert ran.out == (
        "on_before_tool in the main conversation: Bash cd x && git push -f\n\n"
        f"delegate-checks does not fire  [{file}:3]\n"
        f"  validation_model and {RUNS}  no\n"
        f'    validation_model {" " * 57}"haiku"\n'
        f"    {RUNS}                     no\n"
        f'      command {" " * 64}'
        '"cd x && git push -f"\n'
        f"\nno-push fires  [{file}:4]\n"
        '  runs(command, "git push") and not variables.may_push  yes\n'
        '    runs(command, "git push")                           yes\n'
        '      command                                           '
        '"cd x && git push -f"\n'
        "    not variables.may_push                              yes\n"
        "      variables.may_push                                null\n"
        "        variables                                       "
        '{"validation_model": "haiku", "require_task_before_edit": false}\n'
        "\nanswer: refused: Ask before cd x && git push -f.\n"
        f"        [rule no-push ({file}:4)]\n"
    )  # fmt: skip


def test_test_takes_an_event_variables_and_an_agent(project, tmp_path):
    def answer(*words):
        return project.run("rules", "test", "--json", *words).json

    event = tmp_path / "event.json"
    event.write_text(json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "p"}))
    checked = ("--command", "pytest -q")

    assert answer("--event", str(event))["context"] == ["You are asked for p."]
    assert answer(*checked)["spawns"] == [
        {"agent": "validation-runner", "prompt": "Run and report: pytest -q",
         "block": True}
    ]  # fmt: skip
    assert answer(*checked, "--var", "validation_model:=null")["spawns"] == []
    # Its own definition switches the rule off.
    inside = answer(*checked, "--in", "validation-runner")
    assert (inside["spawns"], inside["notes"]) == ([], [])


def test_test_sends_what_the_client_sends(project, home):
    """By the names of events, and with absolute paths."""
    (home / "rules.yaml").write_text("""
on_before_tool: [{tools: Edit, when: 'matches(tool_input.file_path, "m/*")', block: a}]
on_after_tool: [{inject_context: "{{ tool_input.file_path }}"}]
on_stop: [{block: stopped}]
""")

    def answer(*words):
        return project.run("rules", "test", "--json", *words).json

    assert answer("--file", "m/1")["block"] is None
    after = answer("--event", "PostToolUse", "--file", "m/1")
    assert after["context"] == [f"{project.folder}/m/1"]
    assert "stopped" in answer("--event", "on_stop")["block"]
    said = project.run("rules", "test", "--tool", "Write", "--file", "x").out
    heading = f"on_before_tool in the main conversation: Write {project.folder}/x\n"
    assert said.startswith(heading)
    assert "on_before_tool[0] is about Edit  [" in said
    said = project.run("rules", "test", "--event", "Stop", "--in", "researcher").out
    assert said.startswith("on_stop in researcher\n\n")


def test_a_terminal_shows_where_rules_are_and_how_to_switch_one_on(project):
    """Both are there to be copied: nothing is cut."""
    project.write(".bridge/rules.yaml", "on_stop: [{block: x}]\n")
    shown = on_terminal(project, "rules", columns=100)

    assert re.search(
        r"^on_before_tool  no-push .* on +~/.hostbridge/rules.yaml:4$", shown, re.M
    )
    assert re.search(r"^on_stop .* not trusted +\.bridge/rules\.yaml:1$", shown, re.M)
    assert re.search(r"^on_before_tool  require-task .* off +built-in$", shown, re.M)
    assert "off until a rules file names them: - name: require-task\n" in shown


def test_an_event_that_no_rule_is_about(project):
    event = b'{"hook_event_name": "Notification"}'
    ran = project.run("rules", "test", "--event", "-", stdin=event)

    ran.refuses(2, "no rule is about 'Notification'; hook_event_name is one of")


PUSH = """\
on_before_tool:
  - {name: no-push, when: "runs(command, 'git push')", block: N}
"""
REMOVE = """\
  - {name: no-rm, when: "runs(command, 'rm')", block: R}
"""


def test_a_file_that_is_broken_shows_what_holds_in_its_place(project, home):
    """As in the session: `list` and `test` read what hooks read."""
    file = home / "rules.yaml"
    file.write_text(PUSH)
    compile_rules(project.bridge.settings, project.bridge.store)
    file.write_text("on_before_tool:\n\t- x\n")

    ran = project.run("rules", "test", "--command", "git push")
    shown = project.run("rules")

    assert "answer: refused: N" in ran.out
    note = f"{file}:2:1: not YAML: no value begins like this; in front of it only "
    note += "spaces may stand, no tab; "
    assert f"{note}what it said before holds" in ran.err
    row = f"on_before_tool\tno-push\tblock\ton (as before)\t{file}:2"
    assert row in shown.out.splitlines()
    assert f"{note}what it said before holds" in shown.err
    assert "1 error in rules; see: hostbridge rules check" in shown.err
    assert shown.code == 1


def test_a_changed_project_file_shows_what_holds_and_what_waits(project):
    project.write("rules.yaml", "on_stop: []\n", own=True)
    file = project.write(".bridge/rules.yaml", PUSH)
    before = project.run("rules", "test", "--command", "git push")
    agree(project)
    file.write_text(PUSH + REMOVE)
    after = project.run("rules", "test", "--command", "rm x")
    rows = [line.split("\t") for line in project.run("rules").out.splitlines()]

    waits = "is not in force until `hostbridge trust`; it fires"
    assert f"no-push {waits}" in before.out
    assert before.out.endswith("answer: nothing; it goes on\n")
    assert f"no-rm {waits}" in after.out
    assert after.out.endswith("answer: nothing; it goes on\n")
    assert f"{file} is not trusted as it is; what it said before holds" in after.err
    states = {row[1]: row[3] for row in rows}
    assert (states["no-push"], states["no-rm"]) == ("on", "not trusted")


def test_an_agent_that_is_not_there_lets_the_call_run_as_in_a_session(project, home):
    (home / "rules.yaml").write_text(
        'on_before_tool:\n  - when: runs(command, "pytest")\n'
        "    spawn_agent: {agent: validation-runer, prompt: x}\n"
    )

    other = project.run("rules", "test", "--command", "ls").out
    ran = project.run("rules", "test", "--command", "pytest -q")
    shown = project.run("rules").out

    assert other.endswith("answer: nothing; it goes on\n")
    assert "could not start validation-runer: no agent is named" in ran.out
    assert "refused" not in ran.out
    assert "\tno agent\t" in shown
