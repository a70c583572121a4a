"""Commands called in a way that means nothing: exit 2, and what would."""

import shlex

import pytest

NUMBER = "expected a whole number from"
WHEN = "expected a time such as 7d or 24h, a day such as 2026-11-01, or all"
MOST = "1,000,000,000"
WHICH = "needs an ID, or --all; see `hostbridge status`"
BOTH = "takes no ID beside --all; see `hostbridge status`"
SECONDS = "--timeout: expected a time such as 90s, 5m or 1h30m, at least 0.1s"
WRONG = {
    "-C nope where": "-C nope: no such file or directory; give the path of a folder",
    "where -C nope": "-C nope: no such file or directory; give the path of a folder",
    "stat": "no command 'stat'; did you mean stats or status?",
    "aks 'x y' -t5": "no command 'aks'; did you mean: hostbridge ask 'x y' -t5",
    "agents check /dev": "/dev: no definitions in it (*.yaml, *.yml, *.md)",
    "agents check /nowhere": "/nowhere: no such file or folder",
    "agents list --project": "--project and --markdown are for: hostbridge agents new",
    "agents list x": "list takes no 'x'; try: agents show x",
    "agents new": "new needs a name: hostbridge agents new release-notes",
    "agents show": "show which one? try: hostbridge agents list",
    "agents show researchr": "is named 'researchr'; did you mean researcher?",
    "ask --max-attempts 0": f"ask: --max-attempts: {NUMBER} 1 to 100, got '0'; see `",
    "build x --check": "no such option: --check (if it is no option, put -- before",
    "build --max-agents x": f"--max-agents: {NUMBER} 0 to {MOST}, got 'x'; see `",
    "build --rounds 21": f"build: --rounds: {NUMBER} 1 to 20, got '21'; see `",
    "cancel": f"hostbridge: cancel {WHICH}",
    "cancel x --all": f"hostbridge: cancel {BOTH}",
    "completion tcsh": "completion: expected bash, zsh, fish, got 'tcsh'",
    "doctor --live --timeout 0": SECONDS,
    "flow check": "check needs a flow; try: hostbridge flow check FILE|NAME|-",
    "flow check --mermaid x": "--mermaid is for: hostbridge flow graph",
    "flow check a -o x.flow": "--out and --force are for: hostbridge flow",
    "flow check x.yaml": "is checked by: hostbridge workflow check x.yaml",
    "flow check no.flow": "no.flow: no such file or directory",
    "flow design": "design: what is the flow to do: hostbridge flow design",
    "flow design a -o no/x.flow": "there is no folder no",
    "flow design a -o x.txt": "the file of a flow ends with .flow",
    "flow design a b": "design: put it in quotes: hostbridge flow design",
    "flow draw x": "flow: expected list, check, graph, design, got 'draw'; see",
    "flow graph --mermaid --text x": "no such option: --text",
    "models --test --timeout 0": SECONDS,
    "report - --open": "report -: the page goes to stdout, and nowhere else",
    "report --since x": f"report: --since: {WHEN}, got 'x'; see `",
    "ask --agent=Explore x": "--agent (the AGENT is given without one)",
    "runs show --run x": "no such option: --run (the RUN is given without one)",
    "rules check --file x": "check takes no --file: test does; try: hostbridge rules c",
    "rules list --var a=b": "list takes no --var: test does",
    "rules check nothing.yaml": "nothing.yaml: no such file",
    "rules list x.yaml": "list takes no 'x.yaml'",
    "rules test": 'try: hostbridge rules test --command "pytest -q"',
    "rules test 'git push'": "did you mean --command 'git push'?",
    "rules test --command x --file y": "--file: Bash is given no file",
    "rules test --command x --in nobody": "no agent is named 'nobody'",
    "rules test --event nothing.json": "--event nothing.json: no such event, nor",
    "rules test --event - --tool Bash": "--event - and --tool exclude each other",
    "rules test --event on_stp": "nor such a file; did you mean 'on_stop'",
    "rules test --event x --tool Bash": "such a file; expected on_session_start, on",
    "rules test --prompt x --tool Bash": "--prompt and --tool exclude each other",
    "rules test --tool Edit --command x": "--command: Edit runs no command",
    "rules test --tool Edt": "there is no tool 'Edt'; did you mean 'Edit'",
    "run --max-agents -1": f"run: --max-agents: {NUMBER} 0 to {MOST}, got '-1'",
    "run coordinator --param epic=1": "no input 'epic'; it takes task",
    "run task-expanson": "no flow or workflow is named 'task-expanson'; did you ",
    "schema reply": "no record is named 'reply'; expected one of request, response, ",
    "serve --route host": "route 'host': expected one of claude, local, endpoint",
    "stats --by week": "--by",
    "stats --since never": f"stats: --since: {WHEN}, got 'never'; see `",
    "status --watch": "--watch draws on a terminal; here, add --json",
    "submit x --max-attempts 101": f"{NUMBER} 1 to 100, got '101'",
    "task create": "task create: missing: TITLE; see `hostbridge task create --help`",
    "task depend 1 2": "task depend: one argument too many: 2; see `hostbridge task d",
    "task depend 1": "task depend needs --on TASK, or --not-on TASK",
    "task escalate 1": "task escalate needs --reason; see `hostbridge task escalate -",
    "task import": "task import: missing: FILE|-; see `hostbridge task import --help`",
    "task list --reason x": "task list takes no --reason; it takes --category, --prio",
    "task reopen 1 --force": "task reopen takes no --force; it takes --json",
    "task show": "task show: missing: TASK; see `hostbridge task show --help`",
    "task show 1 2": "task show: one argument too many: 2; see `hostbridge task show",
    "task shw": "did you mean 'show'?",
    "trust --list --revoke": "--revoke, --list and --show exclude each other",
    "wait": f"hostbridge: wait {WHICH}",
    "wait x --all": f"hostbridge: wait {BOTH}",
    "workflow check": "check needs a workflow",
    "workflow check ./none.yaml": "none.yaml: no such file or directory",
    "workflow check task-expanson": "did you mean 'task-expansion'?",
    "workflow check x --mermaid": "--mermaid is for: hostbridge workflow graph",
    "workflow list x": "list takes no 'x'",
}


@pytest.mark.parametrize("words", WRONG)
def test_it_says_what_is_wrong(project, words):
    project.run(*shlex.split(words)).refuses(2, WRONG[words])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("task", "import"), "more than 64,000,000 bytes"),
        (("ask", "?", "--schema"), "more than 64,000,000 bytes"),
        (("flow", "check"), "not a plain file"),
    ],
)
def test_error_a_file_that_never_ends(project, words, why):
    """As a link to a device may lead to, which an archive can hold."""
    (project.folder / "a.flow").symlink_to("/dev/zero")

    ran = project.run(*words, "./a.flow")

    assert f"a.flow: {why}" in ran.err
    assert ran.code not in (0, 3)
