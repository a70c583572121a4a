"""Warnings about a definition: valid, but probably a mistake."""

# ruff: noqa: E501 - whole messages, one a line

import pytest

IDLE = 'no rule in `allow` grants a command, and nobody can approve one: only commands that just look, or that your own settings allow, will run. Grant what it needs, such as allow: ["Bash(pytest *)"]'


WARNINGS = {
    "prompt: '{{ taks }}'": [
        "a.yaml:2: warning: prompt: has no {{ task }}, so the task is added at the end",
        "a.yaml:2: warning: prompt: 'taks' has no default: the call fails unless it sets it; did you mean 'task'?",
    ],
    "model: no.gguf": ["a.yaml:2: warning: model: there is no FOLDER/no.gguf yet"],
    "allow: [Read]": [
        "a.yaml:2: warning: allow: without `tools` it may call every tool of its route; list its tools"
    ],
    "tools: [run_command]\nallow: ['Bash', 'Bash(*)', 'Bash(ls)']": [
        "a.yaml:3: warning: allow[0]: grants every command; name them, such as Bash(pytest *)",
        "a.yaml:3: warning: allow[1]: grants every command; name them, such as Bash(pytest *)",
    ],
    "tools: [Bash]\nallow: ['Bash(pytest *)']": [
        "a.yaml:3: warning: allow[0]: lets it run pytest with any option, which can run other programs, write any file and read any file, and runs the project's own programs; to allow only some options, list them: Bash(pytest [-q --tb=*] *)"
    ],
    "tools: [Bash]\nallow: ['Bash(git diff *)']": [
        "a.yaml:3: warning: allow[0]: lets it run git with any option, which can run other programs, write any file, read any file and reach the network; to allow only some options, list them: Bash(git diff [--stat --cached] *)"
    ],
    "tools: [Grep]\nallow: [Read, Edit, 'Bash(ls)', mcp__git]": [
        "a.yaml:3: warning: allow[1]: grants nothing: Edit is not in `tools`",
        "a.yaml:3: warning: allow[2]: grants nothing: Bash is not in `tools`",
    ],
    "tools: [Bash]\nblocked_tools: [run_command]\nallow: ['Bash(ls)']": [
        "a.yaml:4: warning: allow[0]: grants nothing: Bash is in `blocked_tools`"
    ],
    "tools: [Read]\nrequire_verified_evidence: true": [
        "a.yaml:3: warning: require_verified_evidence: it cannot run a command to verify: Bash is not in `tools`"
    ],
    "blocked_tools: [Bash]\nrequire_verified_evidence: true": [
        "a.yaml:3: warning: require_verified_evidence: it cannot run a command to verify: Bash is in `blocked_tools`"
    ],
    "require_verified_evidence: true": [
        "a.yaml:2: warning: require_verified_evidence: no rule in `allow` grants a command to verify: only commands that the session's own settings allow will run"
    ],
    "mode: headless\nmodel: haiku": [f"a.yaml:2: warning: mode: {IDLE}"],
    "tools: [Read, Bash]": [f"a.yaml:2: warning: tools: {IDLE}"],
    "tools: [run_command]\nallow: [Read]": [
        f"a.yaml:2: warning: tools: {IDLE}",
        "a.yaml:3: warning: allow[0]: grants nothing: Read is not in `tools`",
    ],
    "mode: headless\ndescription: Runs checks (pytest, ruff, mypy)\nprompt: '{{ task }}'": [
        f'a.yaml:2: warning: mode: {IDLE[:-1]}, "Bash(ruff *)", "Bash(mypy *)"]'
    ],
    "mode: headless\nblocked_tools: [Bash]": [],
    "mode: headless\ntools: [Read]": [],
    "mode: headless\ntools: [Bash]\nallow: ['Bash(ls)']": [],
    "mode: self": [],
    "workflow: deploy.yaml": [],
    "workflows: {a: {file: deploy.yaml, mode: self}}\ndefault_workflow: a": [],
}


@pytest.mark.parametrize("field", WARNINGS)
def test_a_definition_with_warnings_can_be_used(world, field):
    found = world.load("a.yaml", f"name: a\n{field}\n")

    folder = str(found.file.parent)
    problems = [str(p).replace(f"{folder}/a", "a") for p in found.problems]
    warnings = [each.replace("FOLDER", folder) for each in WARNINGS[field]]
    assert sorted(problems) == sorted(warnings)
    assert found.definition is not None
