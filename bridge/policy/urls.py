r"""The host of a URL, if all readers agree about it. Pure.

Browsers and Python's own parser disagree about `http://evil\@x.org/`, tabs, userinfo
and hosts in other scripts. They agree about a plain URL; for any other there is no host
here.

Source: WHATWG URL Standard, "URL parsing"; RFC 3986, section 3.
"""

import re

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = rf"{_NAME}(?:\.{_NAME})*"
# Only the default port, and nothing that a reader drops, trims or rewrites.
_PLAIN = re.compile(
    rf"(?:https://(?P<https>{_DOMAIN})(?::443)?|http://(?P<http>{_DOMAIN})(?::80)?)"
    r"(?:[/?#][^\\\x00-\x20\x7f-\xa0]*)?\Z",
    re.I,
)


def host_of(url: object) -> str | None:
    """The host of a plain `http` or `https` URL, in lower case; None for others."""
    match = _PLAIN.match(url) if isinstance(url, str) else None
    return (match["https"] or match["http"]).lower() if match else None


def is_domain(spec: str) -> bool:
    """Whether this is `domain:HOST` with one plain ASCII host."""
    return re.fullmatch(f"domain:{_DOMAIN}", spec) is not None
