"""What the agents of a session took: how many there were, and their tokens.

It is the part `spent` of the session's record, kept by call: a call that is seen twice
counts once. Calls that ended more than an hour ago are only added up. All times are
milliseconds since this boot, on a clock that nobody sets; a reboot begins a new hour,
and leaves what the whole session has used.

What somebody else has written there is not believed: a number that cannot be is left
out, and what it stood for counts as not told.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from bridge.config import LONGEST_S
from bridge.protocol.record import LATEST_MS
from bridge.protocol.request import Uptime

HOUR_MS = 3_600_000
# No agent is given more time.
_LONGEST_MS = LONGEST_S * 1000

What = Literal["agents", "tokens"]
Window = Literal["hour", "session"]


class Charge(NamedTuple):
    """One agent: when it began, when its time is up, its end, and its tokens."""

    at: int
    until: int
    end: int | None = None
    tokens: int | None = None

    def closed(self, now_ms: int) -> int:
        """When it ended; one that is not known to have ended works until its time."""
        end = self.until if self.end is None else self.end
        return max(self.at, min(now_ms, end))


class Spending(NamedTuple):
    """What one session has used; the numbers are of calls that are not kept any more.

    `untold` is of how many nobody told the tokens; `warned` is what its user was
    told already.
    """

    boot: str = ""
    agents: int = 0
    tokens: int = 0
    untold: int = 0
    charges: Mapping[str, Charge] = MappingProxyType({})
    warned: tuple[str, ...] = ()

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Spending:
        """What a record says, as far as it can be believed."""
        numbers = {key: _number(raw.get(key)) or 0 for key in _TOTALS}
        calls, warned = raw.get("calls"), raw.get("warned")
        return cls(
            boot=str(raw.get("boot", "")),
            charges={
                call: charge
                for call, each in (calls.items() if isinstance(calls, dict) else ())
                if isinstance(each, dict) and (charge := _charge(each))
            },
            warned=tuple(map(str, warned)) if isinstance(warned, list) else (),
            **numbers,
        )

    def to_data(self) -> dict[str, Any]:
        """The same for the record."""
        return {
            "boot": self.boot,
            **{key: min(getattr(self, key), LATEST_MS) for key in _TOTALS},
            "calls": {call: each._asdict() for call, each in self.charges.items()},
            "warned": list(self.warned),
        }

    def started(self, call: str, now: Uptime, *, until: int) -> Spending:
        """One more agent, unless the call is known."""
        if call in self.charges and self.boot == now.boot:
            return self
        kept = self._folded(now)
        end = min(max(now.ms, until), now.ms + _LONGEST_MS)
        charge = Charge(now.ms, end)
        return kept._replace(charges={**kept.charges, call: charge})

    def ended(self, call: str, now: Uptime, *, again: bool = False) -> Spending:
        """The agent of a call has ended; `again` if it may have ended before."""
        charge = self.charges.get(call)
        if charge is None or self.boot != now.boot:
            return self
        if charge.end is not None and not again:
            return self
        return self._with(call, charge._replace(end=max(charge.at, now.ms)))

    def told(self, call: str, tokens: object, *, is_rough: bool = False) -> Spending:
        """Somebody told the tokens of a call; told twice, the larger one counts.

        A rough number counts only if none is known.
        """
        charge, number = self.charges.get(call), _number(tokens)
        if charge is None or number is None:
            return self
        if is_rough and charge.tokens is not None:
            return self
        return self._with(call, charge._replace(tokens=max(number, charge.tokens or 0)))

    def without(self, call: str) -> Spending:
        """No agent came of a call."""
        kept = {name: each for name, each in self.charges.items() if name != call}
        return self._replace(charges=kept)

    def _with(self, call: str, charge: Charge) -> Spending:
        return self._replace(charges={**self.charges, call: charge})

    def used(self, what: What, window: Window, now: Uptime) -> int:
        """How much was used.

        Within the last hour: agents that began, and agents' tokens when they ended.
        """
        if window == "session":
            own = {"agents": self.agents, "tokens": self.tokens}
            now_ms = self._now_ms(now)
            return own[what] + sum(
                _amount(each, what, 0, now_ms) for each in self.charges.values()
            )
        if self.boot != now.boot:
            return 0
        first = now.ms - HOUR_MS + 1
        # A time in the future is no measurement.
        return sum(
            _amount(each, what, first, now.ms)
            for each in self.charges.values()
            if each.at <= now.ms
        )

    def frees_at(self, what: What, most: int, now: Uptime) -> int:
        """When less than `most` of an hour will be used, if no agent works on."""
        ended = {
            call: each._replace(end=each.closed(now.ms))
            for call, each in self.charges.items()
        }
        still = self._replace(charges=ended)
        early, late = now.ms, now.ms + HOUR_MS
        while early < late:
            middle = (early + late) // 2
            if still.used(what, "hour", now.with_(ms=middle)) < most:
                late = middle
            else:
                early = middle + 1
        return late

    def not_told(self) -> int:
        """Of how many agents that ended nobody told the tokens."""
        kept = self.charges.values()
        return self.untold + sum(c.end is not None and c.tokens is None for c in kept)

    def _now_ms(self, now: Uptime) -> int:
        """The time on the clock of the calls, which a reboot has ended."""
        return now.ms if self.boot == now.boot else LATEST_MS

    def _folded(self, now: Uptime) -> Spending:
        """Add up the calls that no hour needs any more."""
        now_ms = self._now_ms(now)
        old = {
            call: each
            for call, each in self.charges.items()
            if self.boot != now.boot or each.closed(now_ms) <= now_ms - HOUR_MS
        }
        gone = old.values()
        return self._replace(
            boot=now.boot,
            agents=self.agents + len(old),
            tokens=self.tokens + sum(each.tokens or 0 for each in gone),
            untold=self.untold + sum(each.tokens is None for each in gone),
            charges={n: each for n, each in self.charges.items() if n not in old},
        )


_TOTALS = ("agents", "tokens", "untold")


def _amount(charge: Charge, what: What, first: int, now_ms: int) -> int:
    """What one agent used from `first` on."""
    if what == "agents":
        return int(charge.at >= first)
    return (charge.tokens or 0) if charge.closed(now_ms) >= first else 0


def _charge(found: Mapping[str, Any]) -> Charge | None:
    at, until, end = (_time(found.get(key)) for key in ("at", "until", "end"))
    if at is None or until is None or until - at > _LONGEST_MS:
        return None
    end = None if end is None else max(at, end)
    return Charge(at, max(at, until), end, _number(found.get("tokens")))


def _number(value: object) -> int | None:
    """A whole number that any reader of JSON keeps exact; None for anything else."""
    return _time(value) if type(value) is int and value >= 0 else None


def _time(value: object) -> int | None:
    """The same, or one below 0: before this boot."""
    return value if type(value) is int and abs(value) <= LATEST_MS else None
