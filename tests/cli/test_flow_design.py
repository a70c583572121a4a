"""`hostbridge flow design`: what is printed can run, and nothing of it is run."""

import json
import re

import pytest
from endpoint.scripted_server import say
from fakeclaude import fake_claude, printing, result
from sessionworld import in_a_session
from trustworld import Terminal

from bridge.agents.load import load
from bridge.flow.checks import check_flow
from bridge.flow.parser import parse_flow
from bridge.shipped import agents_folder

pytestmark = [pytest.mark.usefixtures("beside"), pytest.mark.slow]

GOOD = 'Explore:"Look around":seen -> Plan:"Plan {seen}"\n'
BAD = 'Explore:"Look" -> Plann:"Plan" || Explor:"Look"'
WHAT_IS_WRONG = """\
the flow:1:19: no agent is named 'Plann'; did you mean Plan?
    Explore:"Look" -> Plann:"Plan" || Explor:"Look"
                      ^
the flow:1:35: no agent is named 'Explor'; did you mean Explore?
    Explore:"Look" -> Plann:"Plan" || Explor:"Look"
                                      ^"""


def answer(flow, notes=""):
    return json.dumps({"flow": flow, "notes": notes})


def in_turn(*flows):
    """What the agent answers, one after the other; the last for ever."""
    left = [*flows]
    return lambda _: answer(left.pop(0) if len(left) > 1 else left[0])


def wished(project, *words, **options):
    return project.run("flow", "design", "Look, then plan", *words, **options)


def test_the_open_session_designs_it(project, host):
    with host.serving(in_turn(GOOD)) as asked:
        ran = wished(project)

    assert ran == (0, GOOD, "")
    [request] = asked
    assert request.agent_type == "flow-designer"
    assert "last" not in request.arguments


def test_what_is_wrong_goes_back(project, host):
    with host.serving(in_turn(BAD, GOOD)) as asked:
        ran = wished(project)

    assert (ran.code, ran.out) == (0, GOOD)
    again = asked[1].arguments
    assert (again["last"], again["problems"]) == (f"{BAD}\n", WHAT_IS_WRONG)


def test_error_three_times(project, host, tmp_path):
    with host.serving(in_turn(BAD)) as asked:
        ran = wished(project, "--out", "x.flow")

    [kept] = tmp_path.glob("hostbridge-*.flow")
    assert kept.read_text() == f"{BAD}\n"
    what = (
        f"{BAD}\n\n{WHAT_IS_WRONG}\nhostbridge: this flow, of 3 attempts, cannot run; "
    )
    way = f"mend it: {kept}, then look with: hostbridge flow check {kept}\n"
    assert ran == (1, "", what + way)
    assert len(asked) == 3
    assert not (project.folder / "x.flow").exists()


def test_json_says_all_of_it(project, host):
    with host.serving(lambda _: answer(f"```flow\n{GOOD}```\n", "It only reads.")):
        ran = wished(project, "--json", "--out", "x.flow")

    said = json.loads(ran.out)
    assert (said["success"], said["flow"], said["notes"]) == (
        True, GOOD, "It only reads.",
    )  # fmt: skip
    assert (said["file"], said["problems"]) == ("x.flow", None)
    assert (project.folder / "x.flow").read_text() == GOOD

    with host.serving(lambda _: answer(BAD)):
        ran = wished(project, "--json")

    said = json.loads(ran.out)
    assert (ran.code, said["success"], said["problems"]) == (1, False, WHAT_IS_WRONG)


@pytest.mark.parametrize(
    ("flow", "wrong"),
    [
        (f"Here it is:\n{GOOD}", "the flow:1:6: expected"),
        ('Explore:"\x1b[2J"', "a flow has no character U+001B"),
        ("", "expected a step"),
        ("@a -> Explore -> @a", "this loop has neither"),
    ],
    ids=["prose", "control characters", "nothing", "no bound"],
)
def test_error_what_is_no_flow(project, host, flow, wrong):
    with host.serving(in_turn(flow or " ")):
        ran = wished(project)

    ran.refuses(1, wrong)
    assert "\x1b" not in ran.err


def test_a_file_is_not_overwritten(project, host):
    file = project.folder / "x.flow"
    file.write_text("mine")

    with host.serving(in_turn(GOOD)) as asked:
        ran = wished(project, "-o", "x.flow")
        assert (ran.code, ran.out, asked) == (2, "", [])
        assert "x.flow is there already, and stays as it is" in ran.err
        assert file.read_text() == "mine"

        ran = wished(project, "-o", "x.flow", "--force")
        said = "hostbridge: look at x.flow, then: hostbridge run x.flow\n"
        assert ran == (0, "", said)

    assert file.read_text() == GOOD
    assert [each.name for each in project.folder.glob("*x.flow*")] == ["x.flow"]


def test_a_flow_that_cannot_be_written_is_kept(project, host, tmp_path):
    def late(_):
        (project.folder / "x.flow").write_text("mine")
        return answer(GOOD)

    with host.serving(late):
        ran = wished(project, "-o", "x.flow")

    [kept] = tmp_path.glob("hostbridge-*.flow")
    ran.fails(1, f"x.flow: file exists; the flow is in {kept}")
    assert kept.read_text() == GOOD


def test_the_last_attempt_is_kept_if_nobody_answers_the_next(project, tmp_path, claude):
    def says(value):
        return printing(result(structured_output=value))

    once = '[ -e "$here/again" ] && exit 3\ntouch "$here/again"\n'
    fake_claude(claude, once + says({"flow": BAD, "notes": ""}))

    ran = wished(project, "--route", "claude")

    [kept] = tmp_path.glob("hostbridge-*.flow")
    ran.refuses(1, f"this flow, of 1 attempt, cannot run; mend it: {kept}")
    assert "agent_error" in ran.err or "exit" in ran.err


def test_claude_designs_it(project, claude):
    value = {"flow": GOOD, "notes": "It only reads."}
    fake_claude(claude, printing(result(structured_output=value)))

    ran = wished(project, "--route", "claude", "-o", "x.flow")

    assert (ran.code, ran.out) == (0, "")
    assert "hostbridge: flow-designer says: It only reads.\n" in ran.err
    assert (project.folder / "x.flow").read_text() == GOOD


def test_a_model_server_designs_it(endpoint, server):
    def submit(flow):
        call = {"tool": "submit_result", "arguments": {"flow": flow, "notes": "n"}}
        return say(json.dumps(call))

    server.acts += [submit(BAD), submit(GOOD)]

    ran = wished(endpoint, "--route", "endpoint")

    assert (ran.code, ran.out) == (0, GOOD)
    assert "answered by route endpoint" in ran.err
    first, again = (
        "\n".join(said["content"] for said in each["messages"]) for each in server.asked
    )
    assert "What the flow is to do: Look, then plan\n" in first
    assert "\n- validation-runner: Runs one check" in first
    assert "\n- @call:review-change(intent): Reviews the uncommitted" in first
    assert '$scanner:"Scan {{target}}":faults ->' in first
    # Nobody is told of what there is not, nor of themselves.
    assert "your last try" not in first
    assert "- flow-designer:" not in first
    assert f"It is not valid:\n\n{BAD}\n" in again
    assert WHAT_IS_WRONG in again
    drawn = endpoint.run("flow", "graph", "-", stdin=ran.out.encode())
    assert drawn.out.startswith("node-0  Explore: Look around -> seen\n")


def test_a_terminal_shows_the_graph_and_the_next_command(project, host):
    hidden = GOOD.replace("around", "around\u202e")
    with host.serving(in_turn(hidden)):
        terminal = Terminal(project, "flow", "design", "Look")
        assert terminal.end() == 0

    assert 'Explore:"Look around\\u202e":seen' in terminal.seen
    assert "node-1  Plan: Plan {seen}\n" in terminal.seen
    assert "characters that do not show: U+202E" in terminal.seen
    assert terminal.seen.endswith("then: hostbridge run NAME.flow\n")
    assert "\u202e" not in terminal.seen


def test_a_session_cannot_put_it_where_it_has_a_name(project):
    mine = project.bridge.settings.home / "flows"
    mine.mkdir(parents=True)
    in_a_session(project)

    for out in (mine / "x.flow", project.folder / "link" / "x.flow"):
        (project.folder / "link").unlink(missing_ok=True)
        (project.folder / "link").symlink_to(mine)
        ran = wished(project, "--out", str(out))
        assert "inside a Claude Code session" in ran.err
    assert [*mine.iterdir()] == []


def test_every_example_that_the_designer_is_given_is_a_flow():
    definition = load(agents_folder() / "flow-designer.yaml", "built-in").definition
    shown = re.findall(r"```flow\n(.*?)```", definition.prompt, re.S)
    assert shown
    flows = [*shown, *(each.answer["flow"] for each in definition.examples)]

    for text in flows:
        found = check_flow(parse_flow(text))
        assert (list(found.errors), list(found.warnings)) == ([], [])
