"""Names from outside, on the page: text, whatever they are."""

from __future__ import annotations

import reportworld
from reportworld import ROWS

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
