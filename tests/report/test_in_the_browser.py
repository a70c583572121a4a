"""The page in Chromium: its numbers, its keyboard, its looks, and hostile names."""

from __future__ import annotations

import json
from dataclasses import replace

import needs
import npmpackages
import pytest
import reportworld
from browser import Browser

from bridge.metrics.cells import Cell, FlowCell, TaskCell
from bridge.metrics.histogram import histogram_of
from bridge.metrics.metrics import Metrics
from bridge.metrics.tally import Tally, Tokens
from bridge.report.page import page

NOTHING = "\u2013"
SCHEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
# What a table shows, as lists of texts; of one below a heading.
ROWS = """(title) => {
  const card = [...document.querySelectorAll('.card')]
    .filter((card) => card.querySelector('h3')?.textContent === title)
    .find((card) => card.querySelector('table'));
  return [...card.querySelectorAll('tr')].map((row) =>
    [...row.children].map((cell) => cell.textContent));
}"""
TILES = """Object.fromEntries([...document.querySelectorAll('.tile')].map((tile) =>
  [tile.querySelector('dt').textContent,
   [...tile.querySelectorAll('dd p')].map((p) => p.textContent)]))"""
HERE = """(() => {
  const at = document.activeElement;
  if (at === document.body) return null;
  const outlined = [at, at.nextElementSibling].filter(Boolean)
    .some((each) => getComputedStyle(each).outlineStyle !== 'none');
  return {what: at.name || at.textContent.trim().slice(0, 60), outlined};
})()"""
# Everything that the page is made of, whatever it shows.
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "a", "header", "h1", "p"),
    *("bdi", "noscript", "form", "label", "select", "option", "button", "main"),
    *("section", "h2", "h3", "dl", "div", "dt", "dd", "span", "figure", "figcaption"),
    *("ul", "li", "details", "summary", "table", "caption", "thead", "tbody", "tr"),
    *("th", "td", "fieldset", "legend", "input", "footer", "pre", "script"),
    *("svg", "g", "path", "text", "tspan", "rect", "circle", "line", "filter"),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = needs.tool("chromium")
    with Browser(program, tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture
def shown(browser, tmp_path):
    """Opens the page of some metrics, 1280 wide and light unless told otherwise."""

    def show(metrics, *, fragment="", **looks):
        file = tmp_path / "report.html"
        file.write_text(page(metrics.to_data()))
        browser.requests.clear()
        browser.complaints.clear()
        browser.show(**looks)
        browser.call("Page.navigate", url="about:blank")
        browser.open(file, fragment=fragment)
        return browser

    yield show
    assert browser.complaints == []
    asked = {url.partition("#")[0] for url in browser.requests} - {"about:blank"}
    assert asked == {(tmp_path / "report.html").as_uri()}


def tally(ended, succeeded, ms, *, wait_ms=500, **more):
    failed = ended - succeeded
    usual = {
        "failures": {"timeout": failed} if failed else {},
        "durations": histogram_of([ms] * ended),
        "waits": histogram_of([wait_ms] * ended),
        "usage": Tokens(input=1_000 * ended, cache_read=7 * ended, output=10 * ended),
    }
    return Tally(ended=ended, succeeded=succeeded, **usual | more)


def small():
    """Two weeks, of which every number can be worked out by hand."""
    cells = (
        Cell("2026-11-14", "Explore", "host", "opus", tally(4, 4, 5_000)),
        Cell("2026-11-25", "Explore", "host", "sonnet", tally(8, 6, 5_000, retries=1)),
        Cell(
            "2026-11-27",
            "developer",
            "local",
            "",
            tally(2, 2, 60_000, corrections=3, verifiable=2, verified=1, degraded=2),
        ),
    )
    flows = (
        FlowCell(
            "2026-11-26", "review", {"completed": 2}, histogram_of([9_000] * 2), 4, 50
        ),
        FlowCell("2026-11-27", "review", {"failed": 1}, histogram_of([9_000]), 1, 10),
    )
    tasks = (TaskCell("2026-11-27", created=3, closed=2, passed=2, failed=1),)
    now_ms = reportworld.NOON_MS
    return Metrics("/home/emma/app", 0, now_ms, 0, 30, cells, flows, tasks)


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


def test_every_control_is_reached_by_the_keyboard(shown):
    """In the order of the page, each visibly, and Tab leaves at the end."""
    seen = shown(small())

    stops = []
    for _ in range(100):
        seen.press("Tab")
        here = seen.run(HERE)
        if here is None:
            break
        stops.append(here)

    assert [stop["what"] for stop in stops if not stop["outlined"]] == []
    names = [stop["what"] for stop in stops]
    assert names[:6] == [
        "Skip to the figures", "period", "agent", "route", "model", "Reset",
    ]  # fmt: skip
    assert "by" in names
    assert {"Ended", "Success", "Tokens", "Numbers: Failures by code"} <= set(names)
    assert names[-1] == "Licences of the code in this page"


def test_every_control_obeys_the_keyboard(shown):
    seen = shown(small())

    def press_at(selector, key):
        seen.run(f"document.querySelector({json.dumps(selector)}).focus()")
        seen.press(key)

    press_at("[name=by]:checked", "ArrowRight")
    assert seen.run("[...document.querySelectorAll('h2')][2].textContent") == "By route"

    press_at("th:nth-child(3) button", "Enter")
    sorted_by = "document.querySelector('[aria-sort=descending]').textContent"
    assert seen.run(sorted_by) == "Success"
    assert [row[0] for row in seen.run(f"({ROWS})('All numbers')")[1:]] == [
        "local", "host",
    ]  # fmt: skip

    press_at("details summary", " ")
    assert seen.run("document.querySelector('details').open")

    press_at("[name=period]", "ArrowDown")
    press_at("[type=reset]", "Enter")
    assert seen.run("location.hash") == ""
    assert seen.run("[...document.querySelectorAll('h2')][2].textContent") == "By agent"

    press_at(".skip", "Enter")
    assert seen.run("document.activeElement.id") == "main"


def test_every_chart_says_in_words_what_it_shows(shown):
    seen = shown(reportworld.metrics())

    charts = seen.run(
        """[...document.querySelectorAll('.chart')].map((chart) => {
          const card = chart.closest('.card');
          const svg = chart.querySelector('svg');
          return {
            title: card.querySelector('h3').textContent,
            says: card.querySelector('figcaption').textContent,
            role: svg.getAttribute('role'), label: svg.getAttribute('aria-label'),
            rows: (card.querySelector('table') ??
              card.parentElement.querySelector('table')).rows.length,
          };
        })"""
    )

    assert len(charts) == 13
    for chart in charts:
        assert chart["role"] == "img"
        assert chart["says"].endswith((".", "do not."))
        assert chart["label"] == f"{chart['title']}. {chart['says']}"
        assert chart["rows"] > 1


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_it_fits_any_width(shown, width):
    """No part of it is outside of the screen, but for what its own table moves."""
    seen = shown(reportworld.metrics(agents=reportworld.HOSTILE), width=width)

    assert seen.run("document.documentElement.scrollWidth") <= width
    wide = seen.run(
        "[...document.querySelectorAll('svg.plot')].filter((svg) =>"
        " svg.getBoundingClientRect().right > innerWidth).length"
    )
    assert wide == 0


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


def test_motion_is_left_out_for_who_wants_none(shown):
    seen = shown(small())
    wish = {"name": "prefers-reduced-motion", "value": "reduce"}

    behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
    assert seen.run(behaviour) == "smooth"
    seen.call("Emulation.setEmulatedMedia", features=[wish])
    assert seen.run(behaviour) == "auto"


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


@pytest.mark.slow
@SCHEMES
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_to_mend(shown, dark, width):
    """Contrast, names, roles, order: the rules of WCAG 2.2 AA that can be checked."""
    axe = npmpackages.installed() / "node_modules" / "axe-core" / "axe.min.js"
    seen = shown(reportworld.metrics(), fragment="#period=7", dark=dark, width=width)
    seen.run(
        "for (const each of document.querySelectorAll('details')) each.open = true"
    )

    seen.run(axe.read_text() + ";0")
    found = seen.run(
        "axe.run({resultTypes: ['violations']}).then(({violations, passes}) => ({"
        " passed: passes.map(({id}) => id),"
        " failed: violations.map(({id, nodes}) =>"
        " [id, nodes.slice(0, 3).map((node) => node.html + node.failureSummary)])}))"
    )

    assert found["failed"] == []
    assert "color-contrast" in found["passed"]
