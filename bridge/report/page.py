"""The page of a report: one HTML file that asks for nothing else.

Its policy lets it run its two scripts, by their digests, and nothing more: no network,
no other script, no markup made of text. What comes from outside is in a block of JSON,
from which the script makes text.

`web/` holds what it is made of; the scripts there are one program, in the order of
`_SCRIPTS`. `vendor/` holds Observable Plot, as `scripts/report_page` builds it.
"""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from time import localtime, strftime
from typing import Any

from bridge.report.page_data import page_data

# What a page begins with, and no other file.
MARK = "<!doctype html>\n<!-- hostbridge report -->\n"
MOST_BYTES = 1_000_000

_HERE = Path(__file__).parent
_SCRIPTS = (
    "data", "sums", "words", "elements", "charts", "cards", "overview", "sections",
    "main",
)  # fmt: skip
# What Plot puts into each chart whose class is `plot`.
_PLOT_STYLE = """\
:where(.plot) {
  --plot-background: white;
  display: block;
  height: auto;
  height: intrinsic;
  max-width: 100%;
}
:where(.plot text),
:where(.plot tspan) {
  white-space: pre;
}"""


def page(metrics: Mapping[str, Any]) -> str:
    """The page that shows `Metrics.to_data`, of at most `MOST_BYTES`."""
    style = _text("web/style.css")
    plot = _text("vendor/plot.js")
    script = "\n".join(_text(f"web/{name}.js") for name in _SCRIPTS)
    parts = {
        "policy": _policy(scripts=(plot, script), styles=(style, _PLOT_STYLE)),
        "style": style,
        "licences": html.escape(_text("vendor/LICENSES.txt")),
        "plot": plot,
        "script": script,
    }
    made = _filled(_text("web/page.html"), parts) + "\n"
    today = strftime("%Y-%m-%d", localtime(metrics["until"] / 1000))
    room = MOST_BYTES - len(made.encode())
    return made.replace("@data@", page_data(metrics, today, room), 1)


def _policy(scripts: tuple[str, ...], styles: tuple[str, ...]) -> str:
    """The content security policy: these scripts and styles, and nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_digests(scripts)}",
            f"style-src {_digests(styles)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _digests(texts: tuple[str, ...]) -> str:
    return " ".join(
        f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
        for text in texts
    )


def _filled(template: str, parts: Mapping[str, str]) -> str:
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text, 1)
    return template


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").rstrip("\n")
