"""Two installs in one session: one of them acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.host.sessions import own
from bridge.protocol.request import HostProcess

if TYPE_CHECKING:
    from hookworld import HookWorld


def test_the_first_install_acts_and_a_resumed_session_asks_again(
    world: HookWorld,
) -> None:
    here = HostProcess(pid=7, start_time="1", boot="b")
    later = HostProcess(pid=7, start_time="2", boot="b")

    asked = [
        own(world.store, "s", kind, host)
        for kind, host in (
            ("plugin", here),
            ("local", here),
            ("plugin", here),
            ("local", later),
            ("plugin", later),
        )
    ]

    assert asked == [True, False, True, True, False]
