"""A turn begins or ends: settle what ended unseen, then offer what waits."""

from contextlib import suppress

from bridge.errors import StateUnavailable
from bridge.host.budget_news import with_news
from bridge.host.context import HookContext
from bridge.host.offers import (
    REPEAT_AFTER_MS,
    agents_run,
    offer,
    open_offers,
)
from bridge.protocol.hook_output import SILENT, HookOutput, context
from bridge.store import sessions
from bridge.store.wakeups import stand_down, sweep


def user_prompt(hook: HookContext) -> HookOutput:
    """A prompt: a notice about our agent is taken, anything else may carry an offer."""
    from bridge.host.missed_ends import hear_finished
    from bridge.host.notices import (
        is_notice,
        parse_notice,
        take_notice,
        take_stop_by_user,
    )

    prompt = hook.event.text("prompt")
    notice = parse_notice(prompt)
    if notice is not None:
        taken = take_notice(hook, notice)
        if taken is not None:
            _look_again(hook)
            return taken
    stopped = take_stop_by_user(hook, prompt)
    if stopped is not None:
        return stopped
    stand_down(hook.store, hook.session.host)
    hear_finished(hook)
    if not is_notice(prompt):
        sessions.note_stop_offers(hook.store, hook.session, 0)
    sweep(hook.store)
    made = offer(hook)
    return context("UserPromptSubmit", made) if made else SILENT


def _look_again(hook: HookContext) -> None:
    """Have an offer repeated that the model does not take up soon.

    The client drops a wake-up that it has queued beside a refused notice, as measured
    on 2.1.332: nobody would offer again in an idle session.
    """
    claims = [claim for _, claim in open_offers(hook)]
    hook.due.extend(c.offers[-1] + REPEAT_AFTER_MS for c in claims if c.offers)


def stop(hook: HookContext) -> HookOutput:
    """The turn ends: settle what ended unseen, then offer, within our own limit."""
    from bridge.host.unseen_ends import reconcile

    reconcile(hook)
    sweep(hook.store)
    if agents_run(hook) or hook.session.stop_offers >= sessions.MAX_STOP_OFFERS:
        return SILENT
    made = offer(hook, repeat_at_once=True)
    if made is None:
        return SILENT
    stand_down(hook.store, hook.session.host)
    # The offer is already counted: print it, whatever happens here.
    with suppress(StateUnavailable):
        count = hook.session.stop_offers + 1
        sessions.note_stop_offers(hook.store, hook.session, count)
    return context("Stop", made)


HANDLERS = {
    "UserPromptSubmit": lambda hook: with_news(hook, user_prompt(hook)),
    "Stop": lambda hook: with_news(hook, stop(hook)),
}
