"""Tell the user, once, that a budget of the session is nearly or wholly used up."""

from contextlib import suppress

from bridge.bound.budgets import limits_of, news_of
from bridge.errors import StateUnavailable
from bridge.host.context import HookContext
from bridge.protocol.hook_output import HookOutput, with_more
from bridge.protocol.wording import one_line
from bridge.store import sessions
from bridge.store.charges import note_spent
from bridge.store.clock import uptime
from bridge.store.sessions import Session
from bridge.store.spending import Spending
from bridge.store.state import State
from bridge.store.submit import forget_held, held_requests, sign_of


def with_news(hook: HookContext, output: HookOutput) -> HookOutput:
    """The same answer, with a line about the budgets if there is news.

    What wakes an idle model has no line for the user: the next answer has it.
    """
    # Whoever cannot write down that it was told would tell it at each event.
    with suppress(StateUnavailable):
        if _look(hook) is not None:
            with hook.store.exclusive():
                news = _look(hook)
                if news is not None:
                    line, spent = news
                    note_spent(hook.store, hook.session.host, spent)
                    return with_more(output, line)
    return output


def _look(hook: HookContext) -> tuple[str, Spending] | None:
    """What to tell, and what to write down; None if both is done."""
    session = session_now(hook)
    warned = session.spending.warned
    line, told = news_of(session, uptime(hook.store.clock))
    with hook.store.state() as state:
        if sign := sign_of(state):
            told = (*told, sign)
        if sign and sign not in warned:
            line = "; ".join(filter(None, (line, _held(state))))
    if told == warned:
        return None
    return line, session.spending._replace(warned=told)


def _held(state: State) -> str:
    """What to tell of the requests that wait for a yes."""
    waiting = held_requests(state)
    if not waiting:
        # They have ended, or somebody took them back.
        forget_held(state)
        return ""
    who = one_line(waiting[0].requester or "a program", 40)
    others = " and others" if len({r.requester for r in waiting}) > 1 else ""
    count = "1 request" if len(waiting) == 1 else f"{len(waiting)} requests"
    return (
        f"hostbridge: held, until you say yes in a terminal: {count} of {who}{others}; "
        "hostbridge reply --all-held"
    )


def session_now(hook: HookContext) -> Session:
    """The session with what it has used by now, and the limits that hold now."""
    mine = hook.session
    known = sessions.find_session(hook.store, mine.session_id, mine.host)
    return (known or mine).with_(limits=limits_of(hook.settings))
