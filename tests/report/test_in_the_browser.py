"""The page in Chromium: its numbers, whatever was asked, and the choice of them."""

from dataclasses import replace

import pytest
import reportworld
from reportworld import ROWS, TILES, small, tally

from bridge.metrics.counts import Cell, Tokens

pytestmark = pytest.mark.slow

NOTHING = "\u2013"


def test_its_tables_have_the_numbers_of_the_metrics(shown):
    """The same percentiles as `hostbridge stats` gives, in words."""
    seen = shown(small())

    assert seen.run(f"({ROWS})('All numbers')") == [
        ["Name", "Ended", "Success", "p50", "p95", "Wait p50", "Wait p95", "Verified",
         "Retries", "Corrections", "Degraded", "Tokens"],
        ["Explore", "12", "83.3%", "5 s", "5 s", "503 ms", "503 ms", NOTHING, "1", "0",
         "0", "12.1K"],
        ["developer", "2", "100%", "1 min", "1 min", "503 ms", "503 ms", "50%", "0",
         "3", "2", "2,020"],
    ]  # fmt: skip
    assert seen.run(f"({ROWS})('Tokens')") == [
        ["Day", "Read anew", "Put into a cache", "Written", "Read from a cache"],
        ["14 Nov", "4,000", "0", "40", "28"],
        ["25 Nov", "8,000", "0", "80", "56"],
        ["27 Nov", "2,000", "0", "20", "14"],
    ]
    assert seen.run(f"({ROWS})('Failures by code')") == [
        ["Code", "Failed", "What it means"],
        ["timeout", "2", "the deadline passed"],
    ]
    assert seen.run(f"({ROWS})('Runs by flow')") == [
        ["Flow", "Runs", "Completed", "Failed", "Cancelled", "p50", "p95", "Agents",
         "Tokens"],
        ["review", "3", "2", "1", "0", "8.9 s", "8.9 s", "5", "60"],
    ]  # fmt: skip
    assert seen.run(f"({ROWS})('Validations')") == [
        ["Day", "Passed", "Failed", "Escalated"],
        ["27 Nov", "2", "1", "0"],
    ]


def test_a_period_is_compared_with_the_one_before(shown):
    seen = shown(small(), fragment="#period=7")

    assert seen.text("#found") == "21 Nov to 27 Nov: 10 requests ended"
    tiles = seen.run(TILES)
    assert tiles["Requests ended"][0] == "10"
    assert tiles["Success rate"] == [
        "80%", "▼ down 20 points from 100% in the 7 days before",
    ]  # fmt: skip
    assert tiles["Verified answers"] == ["50%"]


def test_a_choice_is_kept_in_the_address(shown):
    seen = shown(small())

    seen.run("document.querySelector('[name=agent]').focus()")
    seen.press("ArrowDown")

    assert seen.run("location.hash") == "#agent=Explore"
    assert seen.text("#found") == "14 Nov to 27 Nov: 12 requests ended"

    again = shown(small(), fragment="#agent=Explore&period=no&by=such")

    chosen = "['agent', 'period'].map((name) => filters.elements[name].value)"
    assert again.run(chosen) == ["0", "all"]
    assert again.text("#found") == "14 Nov to 27 Nov: 12 requests ended"


def test_an_empty_project_is_told_how_to_begin(shown):
    seen = shown(reportworld.nothing())

    assert seen.text("main h2") == "Nothing has ended here yet"
    assert "hostbridge ask" in seen.text("main pre")
    assert not seen.run("document.querySelector('#filters').checkVisibility()")


def test_a_single_request_is_told_as_one(shown):
    seen = shown(reportworld.single())

    assert seen.text("#found") == "27 Nov: 1 request ended"
    assert seen.run(
        "[...document.querySelectorAll('figcaption')].map((each) => each.textContent)"
    )[:4] == [
        "1 request on 27 Nov.",
        "100% on 27 Nov.",
        "p50 on 27 Nov: 8.1 s.",
        "p50 on 27 Nov: 949 ms.",
    ]


def test_a_choice_without_requests_is_no_error(shown):
    """Agents and models are chosen apart: nobody may have asked for the two."""
    seen = shown(small(), fragment="#agent=developer&model=opus")

    assert seen.text("#found") == "14 Nov to 27 Nov: nothing has ended"
    assert seen.run("document.querySelectorAll('.part:not(:last-of-type) svg').length")
    assert seen.run(TILES)["Success rate"] == [NOTHING]


def test_tokens_that_nobody_told_of_are_not_zero(shown):
    """A session that tells no usage has used some all the same."""
    untold = tally(2, 2, 5_000, usage=Tokens(), without_usage=2)
    cells = (Cell("2026-11-27", "Explore", "host", "", untold),)
    seen = shown(replace(small(), cells=cells, flows=(), tasks=()))

    assert seen.run(TILES)["Tokens"] == [NOTHING]
    assert seen.run(f"({ROWS})('All numbers')")[1][-1] == NOTHING
    says = (
        "[...document.querySelectorAll('figcaption')].map((each) => each.textContent)"
    )
    assert "Nobody told how many tokens were used." in seen.run(says)


# Names from outside: text, whatever they are


# Everything that the page is made of, whatever it shows.
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "a", "header", "h1", "p"),
    *("bdi", "noscript", "form", "label", "select", "option", "button", "main"),
    *("section", "h2", "h3", "dl", "div", "dt", "dd", "span", "figure", "figcaption"),
    *("ul", "li", "details", "summary", "table", "caption", "thead", "tbody", "tr"),
    *("th", "td", "fieldset", "legend", "input", "footer", "pre", "script"),
    *("svg", "g", "path", "text", "tspan", "rect", "circle", "line", "filter"),
}


def test_no_name_becomes_markup(shown):
    """Whatever agents, models, codes, flows and projects are called, it stays text."""
    odd = reportworld.HOSTILE
    routes = tuple(zip(odd, reversed(odd), strict=True))
    metrics = reportworld.metrics(
        agents=odd, routes=routes, codes=odd, flows=odd, project=odd[0]
    )
    seen = shown(metrics)

    for by in ("route", "model", "agent"):
        seen.run(f"document.querySelector('[value={by}]').click()")
    for name in ("agent", "route", "model"):
        for at in range(0, len(odd), 5):
            choose = f"const all = document.querySelector('[name={name}]');"
            choose += f"all.selectedIndex = {at} % all.length;"
            choose += "all.dispatchEvent(new Event('change', {bubbles: true}));"
            seen.run(f"{{{choose}}}")
        seen.run("document.querySelector('[type=reset]').click()")
    seen.run(
        "for (const each of document.querySelectorAll('details')) each.open = true"
    )
    for chart in seen.run(
        "[...document.querySelectorAll('.chart')].map((chart) => {"
        " const box = chart.getBoundingClientRect();"
        " return [box.left + box.width / 2, box.top + scrollY + 60]; })"
    ):
        x, y = chart
        seen.run(f"scrollTo({{top: {y - 300}, behavior: 'instant'}})")
        top = seen.run("scrollY")
        seen.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y - top)

    elements = seen.run(
        "[...new Set([...document.querySelectorAll('*')].map((one) => one.localName))]"
    )
    assert set(elements) <= ELEMENTS
    attributes = seen.run(
        "[...new Set([...document.querySelectorAll('*')].flatMap((each) =>"
        " each.getAttributeNames()))].filter((name) => /^on|^src|^srcdoc/.test(name))"
    )
    assert attributes == []
    assert seen.run("document.querySelectorAll('script').length") == 3
    links = (
        "[...document.querySelectorAll('[href]')].map((a) => a.getAttribute('href'))"
    )
    assert seen.run(links) == ["#main"]
    names = seen.run(f"({ROWS})('Failures by code').map((row) => row[0])")
    assert odd[0] in names
    assert {"constructor", "__proto__"} <= set(names)
    assert seen.text("#subject").startswith(odd[0])


def test_a_name_can_neither_hide_nor_turn_around_what_is_beside_it(shown):
    names = ("\u202egpj.exe\u2066", "a\u200bb", "line\u2028\x1b[31m", " ", "👩\u200d💻")
    seen = shown(reportworld.metrics(agents=names))

    told = {row[0] for row in seen.run(f"({ROWS})('All numbers')")}

    assert told == {
        "Name", "\\u{202e}gpj.exe\\u{2066}", "a\\u{200b}b",
        "line\\u{2028}\\u{1b}[31m", '" "', "👩\u200d💻",
    }  # fmt: skip
