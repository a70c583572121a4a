"""Which rules there are, what is wrong with them, and what they would do.

`list` shows every rule in its layers, `check` every problem in the rules files, and
`test` what the rules say about one event: which fire, the value of each part of their
conditions, and what would be answered. Rules are in ~/.hostbridge/rules.yaml, and in a
project's .bridge/rules.yaml once you trust it. Exit code 1: a rules file has errors.

For example:
  hostbridge rules check
  hostbridge rules test --command "cd x && pytest -q"
"""

import sys
from argparse import Namespace
from typing import Any

from bridge.agents.known_agents import Agents
from bridge.api.bridge import Bridge
from bridge.cli.definition_text import problem_value
from bridge.cli.exit_codes import Exit
from bridge.cli.inputs import read_json, read_pairs
from bridge.cli.options import AS_JSON, option
from bridge.cli.output import counted, say, say_json, say_result, visible
from bridge.cli.rules_text import list_lines, rule_value, trial_text, trial_value
from bridge.cli.screen import screen_of
from bridge.errors import InvalidRequest
from bridge.host.definition_in_session import rule_sets_of
from bridge.policy.rule_set import EVENTS, Whose
from bridge.rules.agents_named import agent_check
from bridge.rules.compiled import compile_rules
from bridge.rules.layers import live, sources, untrusted
from bridge.rules.rule_file import RuleFile
from bridge.rules.trial import try_event

OPTIONS = (
    option(
        "what",
        metavar="list|check|test",
        nargs="?",
        choices=("list", "check", "test"),
        default="list",
        help="What to do; list by default.",
    ),
    option(
        "--event", metavar="FILE|-", help="For test: an event as Claude Code sends it."
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
    AS_JSON,
)


def command(options: Namespace) -> int:
    """List, check or test; returns the exit code."""
    bridge = Bridge.open()
    place = bridge.store.place
    check_agent = agent_check(bridge.settings, place.project)
    found = sources(bridge.settings, place)
    files, outside = live(found, check_agent), untrusted(found)
    if options.what == "test":
        return _test(bridge, files, options)
    if options.what == "check":
        return _check(bridge, files, outside, options)
    if options.as_json:
        for file in files:
            for rule in file.rules:
                say_json(rule_value(file, rule, outside))
    else:
        say(*list_lines(files, outside, screen_of(sys.stdout).width))
    return _code(files)


def _check(
    bridge: Bridge, files: list[RuleFile], outside: list[Any], options: Namespace
) -> int:
    own = [file for file in files if file.layer != "built-in"]
    problems = [p for file in own for p in file.problems]
    for problem in problems:
        value = problem_value(problem) | {"column": problem.column}
        say_result(options, value, visible(str(problem), kept="\n"))
    # Hooks find what is in force, whether they have seen the change or not.
    if own and bridge.store.exists():
        compile_rules(bridge.settings, bridge.store)
    if not options.as_json:
        errors = sum(problem.level == "error" for problem in problems)
        rules = sum(len(file.rules) for file in own)
        counts = f"{counted(errors, 'error')}, "
        counts += counted(len(problems) - errors, "warning")
        say(f"{counted(rules, 'rule')} in {counted(len(own), 'file')}: {counts}")
        for file in outside:
            say(f"not trusted: {visible(str(file))}; look with: hostbridge trust")
    return _code(files)


def _test(bridge: Bridge, files: list[RuleFile], options: Namespace) -> int:
    raw = _event(options)
    if EVENTS.get(str(raw.get("hook_event_name"))) is None:
        raise InvalidRequest(
            f"no rule is about {raw.get('hook_event_name')!r}; hook_event_name is one "
            f"of {', '.join(EVENTS)}"
        )
    trial = try_event(files, raw, _whose(bridge, files, options))
    say_result(options, trial_value(trial), trial_text(trial))
    return Exit.OK


def _whose(bridge: Bridge, files: list[RuleFile], options: Namespace) -> Whose:
    """The main conversation, or an agent with the variables of its definition."""
    variables = {name: v for file in files for name, v in file.variables.items()}
    given = read_pairs("--var", options.variables)
    if options.agent is None:
        return Whose({**variables, **given})
    agents = Agents.open(bridge.settings, bridge.store.place.project)
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
    if options.event is not None:
        if given:
            raise InvalidRequest(f"--event and {given[0]} exclude each other")
        value = read_json(options.event)
        if not isinstance(value, dict):
            raise InvalidRequest(f"{options.event}: expected an event, a JSON object")
        return value
    if not given:
        raise InvalidRequest(
            'test with what? try: hostbridge rules test --command "pytest -q"'
        )
    if options.prompt is not None:
        return {"hook_event_name": "UserPromptSubmit", "prompt": options.prompt}
    tool = options.tool or ("Bash" if options.command is not None else "Edit")
    fields = {"command": options.command, "file_path": options.file}
    return {
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": {k: v for k, v in fields.items() if v is not None},
    }


def _code(files: list[RuleFile]) -> int:
    return Exit.FAILED if any(file.errors for file in files) else Exit.OK
