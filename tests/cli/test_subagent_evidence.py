"""A subagent that must show evidence: what its tools did, not what it says."""

import json

import pytest
from scripted_server import say

pytestmark = pytest.mark.slow

FIX = """\
name: fixer
model: none.gguf
require_verified_evidence: true
initial_context: {system_prompt: You fix., node_context: "{{ task }}"}
tools:
  - name: fix
    pym: fix.pym
    description: Fixes
    parameters: {type: object, properties: {}, additionalProperties: false}
  - name: submit_result
    pym: submit.pym
    description: Ends
    parameters:
      type: object
      additionalProperties: false
      required: [issues_fixed]
      properties: {issues_fixed: {type: integer}}
"""


def turn(tool, **arguments):
    return say(json.dumps({"tool": tool, "arguments": arguments}))


@pytest.fixture
def fixer(endpoint):
    """The project's command, with the agent and a model that says what it is given."""
    files = {"fixer.yaml": FIX, "fix.pym": "'fixed'\n", "submit.pym": "'noted'\n"}
    for name, text in files.items():
        endpoint.write(f"agents/{name}", text, own=True)
    return endpoint


def ask(project, *more):
    words = ("ask", "fixer", "Fix it.", "--route", "endpoint", "--json", *more)
    return project.run(*words)


def test_error_nothing_ran(fixer, server):
    """One said "issues_fixed: 3" without its tool having run, with success."""
    server.acts = [turn("submit_result", issues_fixed=3) for _ in range(8)]

    ran = ask(fixer)

    assert (ran.code, ran.json["success"]) == (1, False)
    assert ran.json["error"]["code"] == "unverified"


def test_its_tool_ran(fixer, server):
    server.acts = [turn("fix"), turn("submit_result", issues_fixed=3)]

    ran = ask(fixer)

    assert (ran.code, ran.json["parsedOutput"]) == (0, {"issues_fixed": 3}), ran
    shown = [(e["content"], e["verified"]) for e in ran.json["run"]["evidence"]]
    assert shown[0] == ("fix ran", True)


def test_error_its_tool_failed(fixer, server):
    fixer.write("agents/fix.pym", "1 / 0\n", own=True)
    server.acts = [turn("fix"), *(turn("submit_result", issues_fixed=3),) * 8]

    ran = ask(fixer)

    assert (ran.code, ran.json["success"]) == (1, False)
