"""Which URLs a rule for WebFetch covers."""

from __future__ import annotations

import pytest
from grants import granted

from bridge.policy.permissions import (
    parse_rule,
)


@pytest.mark.parametrize(
    "url",
    [
        "https://x.org",
        "https://x.org/a?b=c#d",
        "http://x.org/",
        "HTTPS://X.ORG/a",
        "https://x.org:443/a",
        "http://x.org:80",
        "https://x.org?q=a@b",
    ],
)
def test_a_plain_url_of_a_granted_host_is_covered(url):
    assert granted("WebFetch(domain:x.org)", tool="WebFetch", url=url)
    assert granted("WebFetch(domain:X.org)", tool="WebFetch", url=url)


@pytest.mark.parametrize(
    "url",
    [
        "http://evil.invalid\\@x.org/",
        "http://evil.invalid#@x.org/",
        "http://evil.invalid?@x.org/",
        "http://evil.invalid/@x.org",
        "https://user@x.org/",
        "https://user:word@x.org/",
        "https://x.org\\@evil.invalid/",
        "https://x.org\\.evil.invalid/",
        "https:x.org/",
        "https:///x.org/",
        "https:\\\\x.org/",
        "//x.org/",
        "x.org",
        "file://x.org/etc/passwd",
        "ftp://x.org/",
        "javascript://x.org/%0aalert(1)",
        "https://x.org:8443/",
        "https://x.org:80/",
        "http://x.org:443/",
        "https://x.org:/",
        "https://x.org./",
        "https://x.org%2eevil.invalid/",
        "https://x%2eorg/",
        "https://х.org/",  # noqa: RUF001
        "https://x。org/",
        "https://xn--x.org/",
        "https://[::1]/",
        "https://[x.org]/",
        "https://x.o\trg/",
        "https://x.org\t.evil.invalid/",
        "https://x.org\n@evil.invalid/",
        " https://x.org/",
        "https://x.org/ ",
        "\x00https://x.org/",
        "https://x.org/\\@evil.invalid",
        "https://sub.x.org/",
        "https://x.org.evil.invalid/",
        "",
    ],
)
def test_error_a_url_that_readers_disagree_about(url):
    r"""A client that takes `\\` for `/` reaches another host than one that does not."""
    assert not granted("WebFetch(domain:x.org)", tool="WebFetch", url=url)


@pytest.mark.parametrize("host", ["*.x.org", "x.org/a", "x.org:80", "х.org", "[::1]"])  # noqa: RUF001
def test_error_a_rule_without_a_plain_host(host):
    problem = "expected WebFetch(domain:HOST), one host in plain letters"
    assert parse_rule(f"WebFetch(domain:{host})") == problem
