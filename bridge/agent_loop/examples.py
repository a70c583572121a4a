"""The examples for a small model whose agent brings none: `examples.yaml`."""

from pathlib import Path

import yaml

from bridge.agents.definition import Example

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT = Path(__file__).with_name("examples.yaml").read_text("utf-8")
DEFAULT: tuple[Example, ...] = tuple(
    Example.model_validate(each)
    for each in yaml.load(_TEXT, _LOADER)  # noqa: S506 - either loader is a safe one
)
