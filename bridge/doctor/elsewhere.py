"""Sessions of this project whose state directory is not the one that this shell uses.

Hooks find the state by the environment of their session, a command by that of its
shell. If only the shell has `BRIDGE_HOME` or `BRIDGE_STATE_DIR`, both work and never
meet. The reverse cannot be detected: nothing here names the other place.
"""

from collections.abc import Iterator

from bridge.config import Settings
from bridge.doctor.finding import Finding, warning
from bridge.doctor.subject import Subject
from bridge.host.nearby_sessions import find_nearby
from bridge.protocol.wording import in_shell
from bridge.store.location import locate
from bridge.store.sessions import live_sessions
from bridge.store.store import Store


def open_elsewhere(subject: Subject) -> Iterator[Finding]:
    """Whether sessions are open where this shell would look without its variables."""
    if subject.place is None:
        return
    seen = {subject.place.state}
    for settings, variables in _without_variables(subject):
        place = locate(settings, subject.project)
        if place.state in seen:
            continue
        seen.add(place.state)
        count = len(live_sessions(Store(place, lease_s=settings.lease_s)))
        if count:
            yield warning(
                f"{count} open session{'s' if count > 1 else ''} of this project: in "
                f"{place.state}; this shell looks into {subject.place.state}",
                f"{' and '.join(variables)} is set in this shell, and was not where "
                "they started",
                f"unset {' '.join(variables)}; or start the sessions with it",
            )


def open_nearby(subject: Subject) -> Iterator[Finding]:
    """Whether sessions are open in a folder around the project, and none in it."""
    store = subject.store()
    if store is None or live_sessions(store):
        return
    nearby = find_nearby(store)
    if nearby is None:
        return
    ids = ", ".join(session.session_id for session in nearby.sessions)
    ask = in_shell("hostbridge", "-C", nearby.project, "ask")
    yield warning(
        f"a session is open in {nearby.project} ({ids}), none in {store.place.owner}",
        "a submodule, a nested repository or a folder mounted twice is a project of "
        "its own",
        f"ask that session: `{ask}`; or "
        "`hostbridge install` here, and start `claude` here",
    )


def _without_variables(subject: Subject) -> Iterator[tuple[Settings, list[str]]]:
    """The settings without one variable, or both; with the names of those left out."""
    settings, left_out = subject.settings, []
    if settings.state_dir is not None:
        settings = settings.with_(state_dir=None)
        left_out.append("BRIDGE_STATE_DIR")
        yield settings, left_out
    if not settings.home_is_default:
        home = Settings.from_environment({"HOME": subject.env.get("HOME", "")}).home
        settings = settings.with_(home=home, home_is_default=True)
        yield settings, [*left_out, "BRIDGE_HOME"]
