"""`hostbridge flow`: what is wrong with a flow, and what it looks like."""

import json
import os

import pytest

FLOW = """\
$scanner := {base: "Explore", prompt: "You look for faults.", model: "haiku"}

$scanner:"Scan {{target:src}}":faults ->
[general-purpose:"Mend {faults}":mended || Plan:"Write down {faults}"] ->
@ok:"Is {mended} fine?" -> general-purpose:"Test it"
(if failed)~> @ok(3)
"""

BAD = "bad.flow:1:3: expected -> or || between two steps, not b"


@pytest.fixture
def flow(project):
    file = project.folder / "mend.flow"
    file.write_text(FLOW)
    return file


@pytest.mark.usefixtures("flow")
def test_a_flow_without_faults(project):
    ran = project.run("flow", "check", "mend.flow")

    assert ran == (0, "mend.flow: 6 steps, 0 errors, 0 warnings\n", "")


def test_check_shows_every_problem_at_its_place(project, flow):
    flow.write_text(FLOW.replace("Plan", "Plann"))
    (project.folder / "odd.flow").write_text('Explore:"Look" Plan:"Plan"')

    ran = project.run("flow", "check", "mend.flow", "odd.flow")

    ran.prints(
        1,
        """\
mend.flow:4:44: no agent is named 'Plann'; did you mean Plan?
    [general-purpose:"Mend {faults}":mended || Plann:"Write down {faults}"] ->
                                               ^
mend.flow: 6 steps, 1 error, 0 warnings
odd.flow:1:16: expected -> or || between two steps, not Plan
    Explore:"Look" Plan:"Plan"
                   ^
odd.flow: 1 error, 0 warnings
""",
    )


@pytest.mark.parametrize(
    ("agent", "count"),
    [("researcher", 1), ("validator-logic", 0), ("Explore", 0), ("$own", 1)],
)
def test_a_condition_that_no_answer_can_meet_is_named(project, agent, count):
    source = f'{agent}:"Look" (if issues)~> Plan:"Plan"'
    if agent == "$own":
        source = f'$own := {{base: "researcher", prompt: "You look."}}\n{source}'
    (project.folder / "a.flow").write_text(source)

    said = project.run("flow", "check", "a.flow").out

    assert said.endswith(f" 0 errors, {count} warning{'s' * (count != 1)}\n")
    assert ("answers of researcher have no field `issues`" in said) == bool(count)


def test_check_prints_json(project, flow):
    flow.write_text(FLOW.replace("{mended} fine", "{mendet} fine"))

    ran = project.run("flow", "check", "mend.flow", "--json")

    place = {"file": "mend.flow", "line": 5, "column": 9, "path": ""}
    message = "no step makes {mendet}; did you mean 'mended'?"
    assert (ran.code, ran.json) == (1, {**place, "level": "error", "message": message})


@pytest.mark.usefixtures("flow")
def test_the_drawing_fits_a_page(project):
    drawing = """\
node-0  $scanner (haiku): Scan {{target:src}} -> faults
node-1  ├─ general-purpose: Mend {faults} -> mended
node-2  ├─ Plan: Write down {faults}
node-3  @ok: Is {mended} fine?
node-4  general-purpose: Test it
node-5  if failed
node-6  ├─ back to @ok, 3 times at most
"""
    project.run("flow", "graph", "mend.flow").prints(0, drawing)


@pytest.mark.usefixtures("flow")
def test_the_graph_is_json(project):
    ran = project.run("flow", "graph", "mend.flow", "--json")

    graph = json.loads(ran.out)
    assert [*graph] == ["nodes", "edges", "variables"]
    told = "You look for faults.\n\nScan {{target:src}}"
    who = {"id": "node-0", "type": "agent", "agent": "Explore", "model": "haiku"}
    assert graph["nodes"][0] == {**who, "instruction": told, "outputVar": "faults"}
    assert graph["edges"][-1] == {"from": "node-6", "to": "node-3", "max": 3}


def test_the_graph_is_mermaid(project):
    ran = project.run("flow", "graph", "-", "--mermaid", stdin=b'a:"#1 \\"x\\"" || b')

    boxes = '    node-0["a: #35;1 #34;x#34;"]\n    node-1["b"]\n'
    ran.prints(0, f"flowchart TD\n{boxes}")


def test_called_flows_are_beside_the_file_or_the_users(project):
    (project.folder / "near.flow").write_text('Plan:"{{what}}"')
    project.write("flows/mine.flow", "@call:top", own=True)
    project.write(
        "top.flow",
        '@call:near(what="x") -> @call:nears -> @call:near -> @call:mine ->\n@call:bad'
        " -> @call:odd",
    )
    (project.folder / "bad.flow").write_text("a b")
    os.mkfifo(project.folder / "odd.flow")

    ran = project.run("flow", "check", "top.flow", "--json")

    said = [json.loads(line)["message"] for line in ran.out.splitlines()]
    assert said == [
        "no flow is named 'nears'; did you mean 'near'?",
        "@call:near: the parameter 'what' is missing",
        "flows that call each other never end: mine > top > mine",
        f"@call:bad cannot be called: {BAD}",
        "@call:odd cannot be called: odd.flow: not a plain file",
    ]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["graph", "odd.flow"], 1, "odd.flow:1:3: expected -> or || between two steps"),
        (["graph", "loop.flow"], 1, "loop.flow:1:12: this loop has neither"),
        (["check", "latin.flow"], 2, "expected UTF-8, got byte 0xe9 at offset 3"),
    ],
)
def test_what_cannot_be_done_is_said(project, words, code, said):
    (project.folder / "odd.flow").write_text("a b")
    (project.folder / "loop.flow").write_text("@a -> b -> @a")
    (project.folder / "latin.flow").write_bytes(b'a:"\xe9"')

    ran = project.run("flow", *words)

    ran.refuses(code, said)
    assert ran.out == ""
