"""The page is one file that names no other, and small."""

import re

import pytest
import reportworld

from bridge.report.page import MARK, MOST_BYTES, page


def test_it_begins_with_its_mark():
    assert page(reportworld.single().to_data()).startswith(MARK)


def test_its_policy_allows_its_own_scripts_and_nothing_else():
    text = page(reportworld.single().to_data())

    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="(.*)"', text)
    assert re.sub(r"'sha256-[\w+/]{43}='", "DIGEST", policy) == (
        "default-src 'none'; script-src DIGEST DIGEST; style-src DIGEST DIGEST; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )


def test_it_names_no_file_and_no_address():
    """Names of namespaces and of a licence are no addresses that are asked."""
    text = page(reportworld.single().to_data())

    markup = re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", text, flags=re.S)
    assert re.findall(r'\b(?:src|href)="([^#][^"]*)"', markup) == []
    assert (
        re.findall(r"@import|url\(", re.findall("<style>.*?</style>", text, re.S)[0])
        == []
    )
    hosts = set(re.findall(r"https?://([\w.]+)", text))
    assert hosts == {"www.w3.org", "www.apache.org"}


@pytest.mark.slow
def test_a_busy_and_hostile_project_fits():
    """A thousand names, and every request in a cell of its own."""
    names = tuple(f"{odd[:500]}{at}" for at in range(70) for odd in reportworld.HOSTILE)
    routes = tuple((name, name) for name in names)
    odd = {"agents": names, "routes": routes, "codes": names, "flows": names[:99]}
    metrics = reportworld.metrics(days=365, per_day=200, **odd)
    assert len(metrics.cells) > 17_000

    assert len(page(metrics.to_data()).encode()) <= MOST_BYTES
