"""Whether anything waits for a session: it looks at the queue again, or may rest."""

from bridge.host.context import HookContext
from bridge.store import sessions, wakeups


def look_soon(hook: HookContext) -> None:
    """Have the session look at the queue again, idle or not, if anything waits."""
    if not is_queue_empty(hook):
        wakeups.wake(hook.store, [hook.session])


def is_queue_empty(hook: HookContext) -> bool:
    """Whether nothing waits; if so, the shell hook rests until that changes.

    Without the mark each idle hook would list the folder, which takes longer if it once
    held many requests.
    """
    sessions.mark_looked(hook.store, hook.session.session_id)
    is_empty = False
    try:
        is_empty = not hook.store.has_waiting()
    finally:
        if not is_empty:
            sessions.look_again(hook.store, hook.session.session_id)
    return is_empty
