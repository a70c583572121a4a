"""Trust and rules: what is wrong in their files, and what waits for trust."""

from collections.abc import Iterator

from bridge.agents.known_agents import Agents
from bridge.agents.trust import trusted_projects
from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.doctor.subject import Subject
from bridge.errors import BridgeError
from bridge.rules.layers import Rules, untrusted
from bridge.store.store import Store


def trusted(subject: Subject) -> Iterator[Finding]:
    """Whether the record of what you trust can be read."""
    try:
        trusted_projects(subject.settings.home)
    except BridgeError as exc:
        does = "nothing of any project counts as trusted: agents, rules, flows"
        yield problem(exc.what, does, "; ".join(exc.ways) or "update hostbridge")
    else:
        yield ok("the record of what you trust can be read")


def files(subject: Subject) -> Iterator[Finding]:
    """Whether the rules files can be read, and are in force."""
    if subject.place is None:
        return
    rules = Rules.look(subject.settings, Store(subject.place))
    check = Agents.open(subject.settings, subject.place.project).wrong
    read = [file for file in rules.live(check) if file.layer != "built-in"]
    for file in untrusted(rules.found):
        yield warning(
            f"{file} is not trusted as it is",
            "its rules do nothing; those that you trusted before stay in force",
            f"look at it, and agree: {rules.agree}",
        )
    errors = [error for file in read for error in file.errors]
    if errors:
        more = f", and {len(errors) - 1} more" if errors[1:] else ""
        does = "a rule with an error blocks what it is about, or does nothing"
        if any(not file.is_read for file in read):
            does = "of a file that cannot be read, the rules before it stay in force"
        yield problem(f"{errors[0]}{more}", does, "hostbridge rules check")
    elif read:
        count = sum(len(file.rules) for file in read)
        yield ok(f"{count} in {', '.join(str(file.file) for file in read)}")
