"""Which rules there are, what is wrong with them, and what they would do.

`list` shows every rule and its state, `check` every problem in the rules files, or in
FILE, and `test` what the rules say about one event: which fire, the value of each part
of their conditions, and what would be answered. `new` writes a file to begin with.

Rules are in ~/.hostbridge/rules.yaml, and in a project's .bridge/rules.yaml once you
trust it. Exit code 1: a rules file has errors.

For example:
  hostbridge rules check
  hostbridge rules test --command "cd x && pytest -q"
"""

import shlex
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from bridge.agents.known_agents import Agents
from bridge.api.bridge import Bridge
from bridge.bound.agent_limits import rule_sets_of
from bridge.bound.delegation import not_started
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.inputs import read_json, read_pairs
from bridge.cli.common.options import AS_JSON, option, switch
from bridge.cli.common.output import (
    complain,
    counted,
    say,
    say_json,
    say_result,
    visible,
)
from bridge.cli.definitions.definition_text import say_problems
from bridge.cli.definitions.rules_text import (
    list_lines,
    listed,
    rule_value,
    trial_text,
    trial_value,
)
from bridge.cli.screen.screen import screen_of
from bridge.errors import BridgeError, InvalidRequest
from bridge.hints import did_you_mean
from bridge.policy.rule_decision import Decision
from bridge.policy.rule_set import EVENTS, Whose
from bridge.policy.tool_classes import tools_of
from bridge.policy.tool_names import KNOWN, is_known
from bridge.rules.compiled import compile_rules
from bridge.rules.layers import Rules, read_one, variables_of
from bridge.rules.rule_file import RuleFile
from bridge.rules.trial import try_event

OPTIONS = (
    option(
        "what",
        metavar="list|check|test|new",
        nargs="?",
        choices=("list", "check", "test", "new"),
        default="list",
        help="What to do; list by default.",
    ),
    option("which", metavar="FILE", nargs="?", help="For check: this file alone."),
    switch("--project", help="For new: into this project, for all who work on it."),
    option(
        "--event",
        metavar="NAME|FILE|-",
        help="For test: on_stop, Stop, …, or a file with an event of Claude Code's.",
    ),
    option("--tool", metavar="NAME", help="For test: a call of this tool."),
    option("--command", metavar="TEXT", help="For test: the shell command of a call."),
    option("--file", metavar="PATH", help="For test: the file of a call such as Edit."),
    option("--prompt", metavar="TEXT", help="For test: a prompt of yours."),
    option("--in", dest="agent", metavar="AGENT", help="For test: inside this agent."),
    option(
        "--var",
        dest="variables",
        metavar="NAME=VALUE",
        action="append",
        help="For test: a variable; NAME:=JSON for a value that is not text.",
    ),
    option(
        "--session",
        metavar="ID",
        completes="sessions",
        help="For test: with the variables of this open session.",
    ),
    AS_JSON,
)
USAGE = "[list|check [FILE]|test|new]"

# What an event is called in a rules file, and by the client.
_NAMES = {ours: theirs for theirs, ours in reversed(EVENTS.items())}
_NAMES |= {theirs: theirs for theirs in EVENTS}


def command(options: Namespace) -> int:
    """List, check, test or write; returns the exit code."""
    bridge = Bridge.open()
    place = bridge.store.place
    which = options.which
    _refuse_misplaced(options)
    if options.what == "new":
        return _new(bridge, options)
    check_agent = Agents.open(bridge.settings, place.project).wrong
    if which is not None:
        path = Path(which).absolute()
        file = read_one(bridge.settings, place, path, check_agent)
        _show_problems([file], options)
        return _code([file])
    rules = Rules.look(bridge.settings, bridge.store)
    files = rules.live(check_agent)
    if options.what == "check":
        return _check(bridge, files, rules, options)
    if options.what == "test":
        code = _test(bridge, rules, options)
    else:
        rows = listed(rules, check_agent)
        if options.as_json:
            for row in rows:
                say_json(rule_value(*row))
        else:
            say(*list_lines(rows, screen_of(sys.stdout).width))
        code = _code(files)
    # What is shown is what holds; here is why it is not what the files say.
    for note in rules.notes():
        complain(note)
    if code == Exit.FAILED:
        errors = sum(len(file.errors) for file in files)
        complain(f"{counted(errors, 'error')} in rules; see: hostbridge rules check")
    return code


def _refuse_misplaced(options: Namespace) -> None:
    """Refuse what is for another use, which would go on as if it were not there."""
    what, which = options.what, options.which
    if which is not None and what != "check":
        near = f"; did you mean --command {shlex.quote(which)}?"
        near = near if what == "test" else ""
        raise InvalidRequest(f"{what} takes no {which!r}{near}")
    for each in OPTIONS if what != "test" else ():
        name = each.names[-1]
        value = getattr(options, each.settings.get("dest", name.removeprefix("--")))
        if value and str(each.settings["help"]).startswith("For test"):
            near = "; try: hostbridge rules check FILE" if name == "--file" else ""
            raise InvalidRequest(f"{what} takes no {name}: test does{near}")


def _check(
    bridge: Bridge, files: list[RuleFile], rules: Rules, options: Namespace
) -> int:
    own = [file for file in files if file.layer != "built-in"]
    # Hooks find what is in force, whether they have seen the change or not.
    if own and bridge.store.exists():
        compile_rules(bridge.settings, bridge.store)
    _show_problems(own, options)
    if not options.as_json:
        for note in rules.notes():
            say(visible(note))
    return _code(files)


def _show_problems(files: list[RuleFile], options: Namespace) -> None:
    problems = [p for file in files for p in file.problems]
    counts = say_problems(options, problems, has_columns=True)
    if not options.as_json:
        count = sum(len(file.rules) for file in files)
        say(f"{counted(count, 'rule')} in {counted(len(files), 'file')}: {counts}")


def _new(bridge: Bridge, options: Namespace) -> int:
    from bridge.cli.definitions.rules_new import write_new

    file = write_new(bridge, in_project=options.project)
    trust = ["  hostbridge trust"] if options.project else []
    steps = ["edit it, then:", "  hostbridge rules check", *trust]
    say_result(options, {"file": file}, str(file), *steps)
    return Exit.OK


def _test(bridge: Bridge, rules: Rules, options: Namespace) -> int:
    raw = _event(options)
    if EVENTS.get(str(raw.get("hook_event_name"))) is None:
        raise InvalidRequest(
            f"no rule is about {raw.get('hook_event_name')!r}; hook_event_name is one "
            f"of {', '.join(EVENTS)}"
        )
    agents = Agents.open(bridge.settings, bridge.store.place.project)
    files, waiting = rules.files(), rules.waiting()
    set_there: dict[str, Any] = {}
    if options.session is not None:
        known = bridge.variables(options.session)
        raw.setdefault("session_id", known.holder.owner_id)
        set_there = known.all()
    trial = try_event(files, raw, _whose(agents, files, options, set_there))
    _start(agents, trial.decision)
    whose = _whose(agents, [*files, *waiting], options, set_there)
    would = try_event(waiting, raw, whose).rules
    text = trial_text(raw, trial, would, screen_of(sys.stdout).width)
    say_result(options, trial_value(trial, would), text)
    return Exit.OK


def _start(agents: Agents, decision: Decision) -> None:
    """What becomes of agents that cannot be started, as in a session."""
    for spawn in [*decision.spawns]:
        try:
            agents.find(spawn.agent)
        except BridgeError as error:
            decision.spawns.remove(spawn)
            told = not_started(spawn, error)
            if told.is_refusal:
                decision.block = told.text
            else:
                decision.notes.append(told.text)


def _whose(
    agents: Agents,
    files: list[RuleFile],
    options: Namespace,
    set_there: dict[str, Any],
) -> Whose:
    """The main conversation, or an agent with the variables of its definition."""
    variables = {**variables_of(files), **set_there}
    given = read_pairs("--var", options.variables)
    if options.agent is None:
        return Whose({**variables, **given})
    definition = agents.find(options.agent)
    if definition is not None:
        own = {**definition.default_variables, **definition.lifecycle_variables}
        replaces = definition.lifecycle_variables_mode == "replace"
        variables = own if replaces else {**variables, **own}
    return Whose(
        {**variables, **given},
        agent=options.agent,
        depth=1,
        above=(options.agent,),
        sets=rule_sets_of(definition) if definition else {},
    )


def _event(options: Namespace) -> dict[str, Any]:
    """The event to test with, as the client would send it."""
    made = {"--tool": options.tool, "--command": options.command,
            "--file": options.file, "--prompt": options.prompt}  # fmt: skip
    given = [name for name, value in made.items() if value is not None]
    name = _NAMES.get(options.event)
    if options.prompt is not None:
        given += ["--event"] if options.event else []
        if other := next((one for one in given if one != "--prompt"), None):
            raise InvalidRequest(f"--prompt and {other} exclude each other")
        return {"hook_event_name": "UserPromptSubmit", "prompt": options.prompt}
    if options.event is not None and name is None:
        return _event_of_file(options.event, given)
    if not given and name is None:
        raise InvalidRequest(
            'test with what? try: hostbridge rules test --command "pytest -q"'
        )
    return {"hook_event_name": name or "PreToolUse"} | (_call(options) if given else {})


def _event_of_file(file: str, given: list[str]) -> dict[str, Any]:
    if file != "-" and not Path(file).exists():
        known = ", ".join(dict.fromkeys(EVENTS.values()))
        hint = did_you_mean(file, _NAMES) or f"; expected {known}"
        raise InvalidRequest(f"--event {file}: no such event, nor such a file{hint}")
    if given:
        raise InvalidRequest(f"--event {file} and {given[0]} exclude each other")
    value = read_json(file)
    if not isinstance(value, dict):
        raise InvalidRequest(f"{file}: expected an event, a JSON object")
    return value


def _call(options: Namespace) -> dict[str, Any]:
    """The call of a tool, with an absolute path, as the client sends it."""
    tool = options.tool or ("Bash" if options.command is not None else "Edit")
    if not is_known(tool) and (near := did_you_mean(tool, KNOWN)):
        raise InvalidRequest(f"--tool: there is no tool {tool!r}{near}")
    shells = tools_of("bash")
    if tool in KNOWN and options.command is not None and tool not in shells:
        raise InvalidRequest(f"--command: {tool} runs no command")
    if tool in shells and options.file is not None:
        raise InvalidRequest(f"--file: {tool} is given no file; write --command")
    file = options.file and str(Path(options.file).absolute())
    fields = {"command": options.command, "file_path": file}
    return {
        "tool_name": tool,
        "tool_input": {k: v for k, v in fields.items() if v is not None},
    }


def _code(files: list[RuleFile]) -> int:
    return Exit.FAILED if any(file.errors for file in files) else Exit.OK
