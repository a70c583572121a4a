"""docs/settings.md lists every setting, from the one table."""

from pathlib import Path

from bridge.config import DEFAULTS, TABLE
from bridge.setting import number_text

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
HEAD = [
    "| variable | `config.toml` | meaning | default | read by |",
    "| --- | --- | --- | --- | --- |",
]


def rows() -> list[str]:
    """The table, without what hostbridge and the client set for each other."""
    listed = []
    for key, each in TABLE.items():
        if each.is_internal:
            continue
        default = each.usual or DEFAULTS[key]
        shown = "" if default is None or default is False else f"`{default}`"
        if each.unit:
            shown = f"{number_text(int(default))} {each.unit}"
        what = each.kind.what.partition(" to ")[0].removeprefix("a whole number ")
        meaning = f"{each.meaning} ({what})" if what != "text" else each.meaning
        in_file = "" if each.only_variable else f"`{key}`"
        variable = f"`{each.variable}`" if each.variable else ""
        cells = (variable, in_file, meaning, shown, ", ".join(each.readers))
        listed.append(f"| {' | '.join(cells)} |")
    return listed


def test_the_page_lists_every_setting():
    lines = PAGE.read_text().splitlines()

    start = lines.index(HEAD[0])
    expected = [*HEAD, *rows()]
    assert lines[start : start + len(expected) + 1] == [*expected, ""]
