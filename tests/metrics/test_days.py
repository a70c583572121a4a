"""Days are local; a time begins where people say."""

import os
import time
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from bridge.errors import InvalidRequest
from bridge.metrics.days import Days, since_ms

NOW_MS = 1_795_800_000_000
ZONES = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"]


@pytest.fixture
def zone(monkeypatch):
    before = os.environ.get("TZ")

    def go_to(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()
        return ZoneInfo(name)

    yield go_to
    monkeypatch.setenv("TZ", before) if before else monkeypatch.delenv("TZ", False)  # noqa: FBT003
    time.tzset()


@pytest.mark.parametrize("name", ZONES)
def test_a_day_is_one_of_the_local_time_zone(zone, name):
    """To the millisecond, also where the zone is off by quarters of an hour."""
    here, days = zone(name), Days()
    midnight = datetime(2026, 11, 27, tzinfo=here).timestamp() * 1000

    for ms, day in ((0, "2026-11-27"), (-1, "2026-11-26")):
        digits = b"%d" % (midnight + ms)
        assert days[digits[:8]] == day
    assert since_ms("2026-11-27", NOW_MS) == midnight


TIMES = [
    ("all", 0),
    ("7d", NOW_MS - 7 * 86_400_000),
    (" 24h ", NOW_MS - 86_400_000),
    ("1d12h", NOW_MS - 129_600_000),
    ("99999999999d", 0),
]


@pytest.mark.parametrize(("text", "wanted"), TIMES)
def test_when_a_time_begins(text, wanted):
    assert since_ms(text, NOW_MS) == wanted


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "-7d", 7, None])
def test_error_no_time(text):
    with pytest.raises(InvalidRequest) as caught:
        since_ms(text, NOW_MS)

    assert str(caught.value) == (
        "since: expected a time such as 7d or 24h, a day such as 2026-11-01, or all, "
        f"got {text!r}"
    )


def test_error_a_time_of_too_many_digits():
    with pytest.raises(InvalidRequest, match="since: expected a time"):
        since_ms("9" * 5000 + "d", NOW_MS)
