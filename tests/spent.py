"""What a session has used, as its record says it."""

from typing import Any

from bridge.protocol.request import Uptime
from bridge.store.spending import Charge, Spending

MINUTE_MS = 60_000
# Some time after a boot of its own.
UP = Uptime(boot="b", ms=9_000_000)


def spent(now: Uptime, *ago_ms: int, tokens: int | None = None) -> dict[str, Any]:
    """Agents that began so long ago, and took so many tokens each."""
    charges = {
        f"toolu_{number}": Charge(at, at, at, tokens)
        for number, each in enumerate(ago_ms)
        for at in (now.ms - each,)
    }
    return Spending(boot=now.boot, charges=charges).to_data()
