"""Where a part of a YAML value stands in the source, and how that is shown. Pure."""


def aligned(raw: str, value: str, at: int) -> int:
    """Where a character of a scalar's value stands in the scalar as it is written.

    Blocks are indented, folded lines end in a space, quotes are doubled or escaped:
    every other character of the value stands there too, in the same order.
    """
    index = -1
    if raw[:1] in ("|", ">"):
        index = raw.find("\n")
    elif raw[:1] in ("'", '"'):
        index = 0
    for sign in value[: at + 1]:
        if not sign.isspace():
            found = raw.find(sign, index + 1)
            if found < 0:
                break
            index = found
    # A place after the last sign is the one behind it.
    return index + 1 if at >= len(value.rstrip()) else max(index, 0)


def quoted(text: str, column: int) -> str:
    """A line and a caret below it; of a long line, what is around the place."""
    start = max(0, column - 60)
    shown = text[start : start + 80].replace("\t", " ")
    return f"    {shown}\n    {' ' * (column - start)}^"
