"""The page by the keyboard, on any screen, and to whoever does not see its charts."""

import json

import npmpackages
import pytest
import reportworld
from reportworld import ROWS, small

pytestmark = pytest.mark.slow

SCHEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
HERE = """(() => {
  const at = document.activeElement;
  if (at === document.body) return null;
  const outlined = [at, at.nextElementSibling].filter(Boolean)
    .some((each) => getComputedStyle(each).outlineStyle !== 'none');
  return {what: at.name || at.textContent.trim().slice(0, 60), outlined};
})()"""


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


def test_motion_is_left_out_for_who_wants_none(shown):
    seen = shown(small())
    wish = {"name": "prefers-reduced-motion", "value": "reduce"}

    behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
    assert seen.run(behaviour) == "smooth"
    seen.call("Emulation.setEmulatedMedia", features=[wish])
    assert seen.run(behaviour) == "auto"


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
