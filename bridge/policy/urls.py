r"""The host of a URL that every reader reads in the same way. Pure.

Browsers and Python's own parser disagree about `http://evil\@x.org/`, about tabs, about
userinfo and about hosts in other letters. A URL of the plain form means the same to all
of them; any other has no host here.

Source: WHATWG URL Standard, "URL parsing"; RFC 3986, section 3.
"""

from __future__ import annotations

import re

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = rf"{_NAME}(?:\.{_NAME})*"
# No port but the scheme's own, and nothing that a reader drops, trims or turns round.
_PLAIN = re.compile(
    rf"(?:https://(?P<https>{_DOMAIN})(?::443)?|http://(?P<http>{_DOMAIN})(?::80)?)"
    r"(?:[/?#][^\\\x00-\x20\x7f-\xa0]*)?\Z",
    re.I,
)


def host_of(url: object) -> str | None:
    """The host of a plain `http` or `https` URL, in small letters; None for others."""
    match = _PLAIN.match(url) if isinstance(url, str) else None
    return (match["https"] or match["http"]).lower() if match else None


def is_domain(spec: str) -> bool:
    """Whether `domain:HOST` names one host in the letters that a URL has."""
    return re.fullmatch(f"domain:{_DOMAIN}", spec) is not None
