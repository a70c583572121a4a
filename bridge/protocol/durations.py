"""Lengths of time as people type them: `90`, `90s`, `5m`, `1h30m`, `30d`. Pure."""

import re

_UNITS_S = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"
_PARTS = "".join(rf"(?:{_NUMBER}{unit})?" for unit in _UNITS_S)


def parse_duration(text: str) -> float | None:
    """The seconds that `text` stands for; None if it is no length of time.

    A number alone is seconds. Units go from the largest to the smallest, each once.
    """
    if not text.isascii():
        return None
    if re.fullmatch(_NUMBER, text):
        return float(text)
    parts = re.fullmatch(_PARTS, text, re.I)
    if parts is None or not any(parts.groups()):
        return None
    units = zip(parts.groups(), _UNITS_S.values(), strict=True)
    return sum(float(number or 0) * unit_s for number, unit_s in units)
