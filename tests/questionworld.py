"""A request whose agent has asked back, in a project."""

import os

from bridge.protocol.question import Asked
from bridge.store import Claimant, questions
from bridge.store.host_process import identify

COLOURS = {"enum": ["red", "blue"]}


def submitted(project, form=COLOURS):
    """A request whose agent has asked, and that nobody holds."""
    request = project.bridge.submit("Paint.", may_ask=True)
    ask_in(project, request, form)
    return request


def ask_in(project, request, form):
    """The agent of a request asks, and may end."""
    store, host = project.bridge.store, identify(os.getpid())
    store.claim_one(request, Claimant("s", host))
    with store.state() as state:
        questions.ask(state, request, lambda _: True, Asked("Which colour?", form))
    store.give_back(request, host)
