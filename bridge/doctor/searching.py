"""Can agents that only read search in the open sessions?

They run as an agent of ours that has Grep and Glob. The client learns of it when it
starts, from a file of the user's or from the plugin.
"""

from collections.abc import Iterator

from bridge.doctor.finding import Finding, ok, warning
from bridge.doctor.hooks import INSTALL, all_registered
from bridge.doctor.subject import Subject
from bridge.errors import BridgeError
from bridge.host.carrier import OF_PLUGIN, CarrierFile


def agents_search(subject: Subject) -> Iterator[Finding]:
    """Whether our agent is installed, and which open sessions do not know it."""
    sessions = subject.live_sessions()
    # The plugin's agent needs no file.
    rest = [each for each in sessions if each.carrier != OF_PLUGIN]
    if not rest and (sessions or not all_registered(subject)):
        return
    if wrong := _problem_of_file(subject):
        found, cause, cure = wrong
        yield warning(f"agents that only read cannot search: {found}", cause, cure)
        return
    unaware = [each for each in rest if each.carrier is None]
    for each in unaware:
        yield warning(
            f"agents that only read have no Grep and no Glob in session "
            f"{each.session_id} (pid {each.host.pid})",
            "it was open before hostbridge's own agent was installed; a client looks "
            "for agents when it starts",
            f"restart session {each.session_id}",
        )
    if not unaware:
        yield ok("agents that only read can search")


def _problem_of_file(subject: Subject) -> tuple[str, str, str] | None:
    """What is wrong with the user's file, why, and what helps."""
    carrier = CarrierFile(subject.settings)
    again = f"{INSTALL}, then restart the open sessions"
    try:
        state = carrier.state()
    except BridgeError as exc:
        return str(exc), "it cannot be read", f"correct {carrier.file}, or {INSTALL}"
    if state is None:
        cause = "it was removed, or an older version installed the hooks"
        return f"{carrier.file} is not there", cause, again
    if state == "somebody else's":
        found = f"{carrier.file} is not hostbridge's"
        return (
            found,
            "somebody else wrote or changed it",
            f"rename {carrier.file}; {again}",
        )
    return None
