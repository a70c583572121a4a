"""Texts of the formats that JSON Schema knows, as Hypothesis strategies.

The standard lets any text pass; who asks with a type of pydantic's means these.

Source: JSON Schema Validation, draft 2020-12, "Defined Formats".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
_URIS = st.builds("https://{}.example/{}".format, _WORDS, _WORDS)

FORMATS: dict[str, SearchStrategy[str]] = {
    "date-time": st.datetimes(timezones=st.just(None)).map(
        lambda moment: f"{moment.isoformat()}Z"
    ),
    "date": st.dates().map(lambda day: day.isoformat()),
    "time": st.times().map(lambda moment: f"{moment.isoformat()}Z"),
    "duration": st.integers(0, 10_000).map("PT{}S".format),
    "email": st.builds("{}@{}.example".format, _WORDS, _WORDS),
    "hostname": st.builds("{}.example".format, _WORDS),
    "ipv4": st.ip_addresses(v=4).map(str),
    "ipv6": st.ip_addresses(v=6).map(str),
    "uri": _URIS,
    "iri": _URIS,
    "uri-reference": _URIS,
    "uuid": st.uuids().map(str),
}
