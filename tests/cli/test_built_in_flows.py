"""The built-in flows go to their end, as answers decide; and the list."""

import json

import pytest
from endpoint.scripted_server import say

from bridge.api.flow_files import Flows

NAMES = ["plan-and-build", "review-change", "scan-and-fix"]
CALLED = '@call:review-change(intent="x")'


def flows_of(project):
    return Flows(project.bridge.settings, project.bridge.store.place.project)


def rehearsed(project, tmp_path, name, answers, *params):
    """Who would be asked, in order, and how it would end."""
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(answers))
    given = [word for each in params for word in ("--param", each)]
    ran = project.run("run", name, "--dry-run", str(file), "--json", *given)
    *asked, end = map(json.loads, ran.out.splitlines())
    return asked, end["status"]


@pytest.mark.parametrize("name", NAMES)
def test_each_is_found_by_its_name_and_has_no_fault(project, name):
    ran = project.run("flow", "check", name)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(" 0 errors, 0 warnings\n")
    assert project.run("flow", "graph", name).code == 0


def test_each_says_what_it_is_for(project):
    known = [*flows_of(project).known()]

    assert [each.name for each in known] == NAMES
    assert [each.content.head.name for each in known] == NAMES
    assert all(each.description for each in known)
    assert all(p["description"] for each in known for p in each.inputs.values())


FOUND = {"status": "success", "summary": "a.py:1", "issues": ["a.py:1"]}
CLEAN = {"status": "success", "summary": "nothing", "issues": []}
FAILED = {"status": "failed", "summary": "1 failed"}
PASSED = {"status": "success", "summary": "1 passed"}
ROUND = ["fixer", "validation-runner", "scanner"]


@pytest.mark.parametrize(
    ("scans", "checks", "asked", "status"),
    [
        ([CLEAN], [], ["scanner"], "completed"),
        ([FOUND, CLEAN], [PASSED], ["scanner", *ROUND], "completed"),
        ([FOUND, CLEAN], [FAILED, PASSED], ["scanner", *ROUND, *ROUND], "completed"),
        ([FOUND, FOUND, CLEAN], [PASSED], ["scanner", *ROUND, *ROUND], "completed"),
        ([FOUND], [PASSED], ["scanner", *ROUND, *ROUND, *ROUND], "failed"),
    ],
    ids=["clean", "mended", "a check failed", "a fault is left", "never done"],
)
def test_scan_and_fix(project, tmp_path, scans, checks, asked, status):
    answers = {"scanner": scans, **({"validation-runner": checks} if checks else {})}

    found, end = rehearsed(project, tmp_path, "scan-and-fix", answers)

    assert ([each["who"] for each in found], end) == (asked, status)
    assert "Look here: the whole project." in found[0]["text"]
    if checks[:1] == [FAILED]:
        assert "The check said then" not in found[1]["text"]
        assert "What the check said then: 1 failed" in found[4]["text"]


BUILT = ["researcher", "planner", "agree", "builder", "validation-runner"]


@pytest.mark.parametrize(
    ("word", "checks", "asked", "status"),
    [
        ("yes", [PASSED], BUILT, "completed"),
        ("yes, but in C", [FAILED, PASSED], [*BUILT, *BUILT[-2:]], "completed"),
        ("yes", [FAILED], [*BUILT, *BUILT[-2:] * 4], "failed"),
        ("no", [PASSED], BUILT[:3], "failed"),
    ],
    ids=["at once", "in two rounds", "never", "refused"],
)
def test_plan_and_build(project, tmp_path, word, checks, asked, status):
    answers = {"agree": word, "validation-runner": checks, "planner": "Edit a.py."}

    found, end = rehearsed(project, tmp_path, "plan-and-build", answers, "task=a thing")

    assert ([each["who"] for each in found], end) == (asked, status)
    assert "Plan this: a thing" in found[1]["text"]
    if status == "completed":
        assert f"said: {word}\n" in found[3]["text"]
        assert "Edit a.py." in found[3]["text"]


def verdict(said, **more):
    return {"verdict": said, "summary": "s", "checks": [], "issues": [], **more}


def test_review_change_on_a_model_server(endpoint, server):
    """Three reviewers at once, each with the change; then one who has all they said."""

    def model(talk, asked):
        told = json.dumps(asked["messages"])
        if "Write one review" in told:
            answer = {"status": "success", "summary": "not ready: billing"}
        else:
            answer = verdict("NEEDS_REVIEW")
        call = {"tool": "submit_result", "arguments": answer}
        say(json.dumps(call))(talk, asked)

    server.acts.append(model)

    ran = endpoint.run("run", "review-change", "--route", "endpoint", "--json")

    said = json.loads(ran.out)
    assert (said["success"], said["asked"]) == (True, 4), ran
    assert said["text"] == "not ready: billing"
    assert said["variables"]["logic"]["verdict"] == "NEEDS_REVIEW"
    last = json.dumps(server.asked[-1]["messages"])
    assert last.count("NEEDS_REVIEW") == 3


def test_the_list_says_what_can_run_and_what_cannot(project):
    head = "name: r\ndescription: mine\nparams: {a: {default: 1}, b: }"
    mine = f'---\n{head}\n---\nExplore:"{{{{a}}}} {{{{b}}}}"'
    project.write("flows/review-change.flow", mine, own=True)
    broken = project.write("flows/broken.flow", "a b", own=True)
    project.write(".bridge/flows/theirs.flow", 'Explore:"Look"')

    ran = project.run("flow")

    assert ran.out.startswith(f"""\
broken  (~/.hostbridge)
    {broken}:1:3: expected -> or || between two steps, not b
        a b
          ^
plan-and-build  (built-in)
    Researches""")
    params = "    --param a=… (default: 1)\n    --param b=… (required)\n"
    assert f"\nreview-change  (~/.hostbridge)\n    mine\n{params}" in ran.out
    assert ran.out.endswith("\ntheirs  (.bridge, not trusted)\n")
    said = "hostbridge: what is not trusted runs only after: hostbridge trust\n"
    assert (ran.code, ran.err) == (1, said)
    listed = [json.loads(each) for each in project.run("flow", "-j").out.splitlines()]
    said = [(each["name"], each["trusted"], bool(each["problem"])) for each in listed]
    assert said == [
        ("broken", True, True), ("plan-and-build", True, False),
        ("review-change", True, False), ("scan-and-fix", True, False),
        ("theirs", False, False),
    ]  # fmt: skip


def test_a_flow_that_is_not_trusted_can_be_looked_at(project):
    project.write(".bridge/flows/theirs.flow", f"@call:below -> {CALLED}")
    project.write(".bridge/flows/below.flow", 'Explore:"Look"')

    assert project.run("flow", "check", "theirs").code == 0
    assert "@call:below" in project.run("flow", "graph", "theirs").out


@pytest.mark.parametrize("words", [("run",), ("flow", "check"), ("flow", "graph")])
def test_a_name_that_is_misspelt(project, words):
    ran = project.run(*words, "reveiw-change")

    ran.refuses(2, " is named 'reveiw-change'; did you mean 'review-change'?")
