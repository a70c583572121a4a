"""A run of a flow beside a session: begun, looked at, and led by a person's hand."""

from functools import partial

from flow.simulation import plan_of
from polling import wait_until

from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.engine.view import view


def begun(world, plan, **options):
    """Begin a run of a plan, or of the flow whose source this is."""
    plan = plan_of(plan) if isinstance(plan, str) else plan
    with world.store.state() as state:
        run = begin(state, plan, **options)
    do(world, run)
    return run


def do(world, run, act=None):
    """Do something to a run, and lead it on."""
    advance(world.store, world.bridge.settings, run, act)


def say(world, run, text, by="reply"):
    """Answer its checkpoint in another terminal."""
    do(world, run, partial(by_hand.say, node=None, text=text, by=by))


def now(world, run):
    return view(world.store, run)


def waiting(world, run):
    """The steps that wait for a person."""
    return [node for _, node, _ in now(world, run).checkpoints()]


def texts(world, run):
    """What persons have said to it."""
    return [each["text"] for each in now(world, run).run["said"].values()]


def wait_for_end(world, run, status="completed"):
    wait_until(
        lambda: now(world, run).run["status"] == status, timeout_s=300, what="its end"
    )


def wait_for_checkpoint(world, run):
    wait_until(lambda: waiting(world, run), timeout_s=300, what="a checkpoint")
