"""The compiled rules of a project, in `<state>/rules/`, where hooks find them.

    <event>.json             the rules of an event, in their order, and the variables
    <Event>, <Event>.<class> empty signs for the shell: some rule may be about this
    variables.json           the variables of the files, and whose they are
    <layer>[.<set>].yaml     a copy of each file in force
    <layer>.stamp            has the time of a layer's file at the last look
    sets.json                the times of the files of rule sets, if there are any
    problems.json            errors in the files, and files that wait for trust, if any

Compiled by `rules check`, `trust`, and the first event after a change. Written in this
order: rules, signs, stamps. If two do it at once, both write what they read, and a
stamp that does not fit its file has it done again.
"""

from __future__ import annotations

import hashlib
from itertools import chain
from typing import TYPE_CHECKING, Any

import orjson

from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.policy.rule_set import EVENTS, TOOL_EVENTS, label_of
from bridge.policy.tool_classes import CLASSES
from bridge.protocol.record import json_object
from bridge.rules.freshness import (
    FILE,
    FOLDER,
    PROBLEMS,
    SETS,
    folders_of,
    identity_of,
    is_fresh,
    times_of_sets,
)
from bridge.rules.layers import Rules, live, read_all, sources, variables_of
from bridge.rules.rule_file import RULE_EVENTS, RuleFile
from bridge.rules.signs import classes_of
from bridge.store.directory import Folder
from bridge.store.hook_log import log_failure
from bridge.store.store import Store
from bridge.store.variables import Kept, forget_models

if TYPE_CHECKING:
    import os


VERSION = 1
VARIABLES = "variables.json"
_UNFINISHED = "rules were not read to the end: there was no time, or they are damaged"
# The user's rules come before the project's, of one priority.
_ORDER = {"user": 0, "project": 1}


def compile_rules(settings: Settings, store: Store) -> list[RuleFile]:
    """Compile what is in force, and write it; returns the files as they count.

    Raises:
        StateUnavailable, OSError: the state cannot be written.
    """
    # First: a change while they are read shows at the next look.
    folders = folders_of(settings, store.place)
    looked = {layer: identity_of(each / FILE) for layer, each in folders.items()}
    sets = times_of_sets(map(str, folders.values()))
    found = sources(settings, store.place)
    with store.state() as state:
        folder = state[FOLDER]
        rules = Rules.choose(found, folder.read)
        texts = rules.texts
        # A set that is gone leaves no copy.
        for name in set(folder.names(".yaml")) - {s.copy[:-5] for s in texts}:
            folder.remove(f"{name}.yaml")
        for source, data in texts.items():
            if folder.read(source.copy) != data:
                folder.replace(source.copy, data, durable=False)
        unfinished: dict[str, Any] = {"errors": [_UNFINISHED]}
        # None while rules are being written: half of them are no end.
        problems: dict[str, Any] | None = unfinished
        try:
            own = {s: data for s, data in texts.items() if s.layer == "user"}
            if len(own) < len(texts):
                # First, for a hook may not have the time to read the others.
                files = read_all(own)
                problems = None
                _write(folder, files, _held(folder))
                problems = unfinished
            files = rules.files()
            problems = None
            _write(folder, files, {})
            problems = unfinished
            problems = _problems(settings, store, rules, files)
        except (KeyboardInterrupt, BridgeError, OSError):
            problems = None
            raise
        finally:
            # Also if the time was up, as it would be at every event.
            if problems is not None:
                _write_or_remove(folder, PROBLEMS, problems)
                for layer, facts in looked.items():
                    _stamp(folder, layer, facts)
                _write_or_remove(folder, SETS, sets)
    forget_models(store, _kept_by(files))
    return files


def try_to_compile(settings: Settings, store: Store) -> None:
    """Compile what has changed; if that fails, the rules stay as they were."""
    try:
        compile_rules(settings, store)
    except (BridgeError, OSError):
        log_failure("rules")


def _problems(
    settings: Settings, store: Store, rules: Rules, files: list[RuleFile]
) -> dict[str, Any]:
    """What a user should know when a session begins; empty if nothing."""
    waiting = {
        str(s.file): hashlib.sha256(s.data).hexdigest()
        for s in rules.found
        if s.data is not None and not s.is_admitted
    }
    # A file that is not trusted is digested, and not parsed: it may be anybody's, and a
    # hook has little time.
    looked_at = [s for s in rules.found if s.why or s.is_admitted]
    errors = [
        str(error).partition("\n")[0]
        for file in (files if rules.is_whole else live(looked_at))
        for error in file.errors
    ]
    found = {
        "errors": errors,
        "agents": _missing_agents(settings, store, files),
        "untrusted": waiting,
        "held": [str(s.file) for s in rules.texts if str(s.file) in waiting],
    }
    return found if any(found.values()) else {}


def _missing_agents(
    settings: Settings, store: Store, files: list[RuleFile]
) -> list[str]:
    """What is wrong with the agents that rules in force name."""
    named = [
        (file, rule, rule.fields.spawn_agent.agent)
        for file in files
        if file.layer != "built-in"
        for rule in file.rules
        if rule.fields.enabled and rule.fields.spawn_agent
    ]
    if not named:
        return []
    from bridge.agents.known_agents import Agents

    check = Agents.open(settings, store.place.project).wrong
    return [
        f"{file.file}:{rule.line}: rule {rule.name}: {why}"
        for file, rule, agent in named
        if (why := check(agent))
    ]


def _write_or_remove(folder: Folder, name: str, record: dict[str, Any]) -> None:
    if record:
        folder.replace(name, orjson.dumps(record), durable=False)
    else:
        folder.remove(name)


def declared_variables(settings: Settings, store: Store) -> dict[str, Any]:
    """The variables that rules files in force declare, with their first values."""
    return dict(_known(settings, store).get("variables", {}))


def kept_variables(settings: Settings, store: Store) -> dict[str, Kept]:
    """The variables that rules files in force declare or set: no model's."""
    if not store.exists() and not is_fresh(settings, store.place):
        # The first request of a project: nothing is compiled yet.
        admitted = [s for s in sources(settings, store.place) if s.is_admitted]
        return _kept_by(live(admitted))
    found = _known(settings, store).get("kept", {})
    return {name: Kept(*each) for name, each in found.items()}


def _kept_by(files: list[RuleFile]) -> dict[str, Kept]:
    found: dict[str, Kept] = {}
    for rule in chain.from_iterable(rules_in_order(files).values()):
        whose = f"the rule {label_of(rule)}"
        names = {**rule.get("set_variable", {}), **rule.get("increment_variable", {})}
        found |= dict.fromkeys(names, Kept("rule", whose))
    for file in files:
        place = "built-in" if file.layer == "built-in" else file.file
        whose = f"the person ({place})"
        found |= dict.fromkeys(file.variables, Kept("person", whose))
    return found


def _known(settings: Settings, store: Store) -> dict[str, Any]:
    if not store.exists():
        return {}
    if not is_fresh(settings, store.place):
        compile_rules(settings, store)
    with store.folder(FOLDER) as folder:
        data = folder.read(VARIABLES)
        found = json_object(data)
        parts = (found.get("variables"), found.get("kept"))
        if data is not None and not all(isinstance(part, dict) for part in parts):
            # Damaged.
            compile_rules(settings, store)
            found = json_object(folder.read(VARIABLES))
    return found


def _held(folder: Folder) -> dict[str, Any]:
    """What is in force of the project, as it was compiled before."""
    rules: dict[str, Any] = {}
    for event in RULE_EVENTS:
        found = json_object(folder.read(f"{event}.json")).get("rules")
        known = [rule for rule in found or () if isinstance(rule, dict)]
        rules[event] = [rule for rule in known if rule.get("layer") == "project"]
    return {**json_object(folder.read(VARIABLES)), "rules": rules}


def _write(folder: Folder, files: list[RuleFile], held: dict[str, Any]) -> None:
    """Write the rules of these files, and those that are held."""
    variables = {**held.get("variables", {}), **variables_of(files)}
    common = {"version": VERSION, "variables": variables}
    rules = rules_in_order(files)
    for event, others in held.get("rules", {}).items():
        rules[event] += others
    for event in RULE_EVENTS:
        if rules[event]:
            data = orjson.dumps({**common, "rules": rules[event]})
            folder.replace(f"{event}.json", data, durable=False)
    kept = {name: list(each) for name, each in _kept_by(files).items()}
    kept = {**held.get("kept", {}), **kept}
    known = {"version": VERSION, "variables": variables, "kept": kept}
    folder.replace(VARIABLES, orjson.dumps(known), durable=False)
    wanted = _signs(rules)
    for sign in wanted:
        folder.touch(sign)
    every = {_sign(name, each) for name in EVENTS for each in ("", *CLASSES)}
    for sign in every - wanted:
        folder.remove(sign)
    for event in RULE_EVENTS:
        if not rules[event]:
            folder.remove(f"{event}.json")


def rules_in_order(files: list[RuleFile]) -> dict[str, list[dict[str, Any]]]:
    """The compiled rules in force, by event, in the order in which they count."""
    ranked = [
        (-rule.fields.priority, _ORDER[file.layer], rule)
        for file in files
        if file.layer != "built-in"
        for rule in file.rules
        if rule.fields.enabled and rule.code is not None
    ]
    ranked.sort(key=lambda entry: entry[:2])
    return {
        event: [rule.code for *_, rule in ranked if rule.event == event and rule.code]
        for event in RULE_EVENTS
    }


def _signs(rules: dict[str, list[dict[str, Any]]]) -> set[str]:
    found: set[str] = set()
    for name, event in EVENTS.items():
        if rules[event]:
            found.add(name)
        if event in TOOL_EVENTS:
            classes = {each for rule in rules[event] for each in classes_of(rule)}
            found |= {_sign(name, each) for each in classes}
    return found


def _sign(event: str, tools: str) -> str:
    return f"{event}.{tools}" if tools else event


def _stamp(folder: Folder, layer: str, facts: os.stat_result | None) -> None:
    if facts is None:
        folder.remove(f"{layer}.stamp")
    else:
        folder.touch_at(f"{layer}.stamp", facts.st_mtime_ns)
