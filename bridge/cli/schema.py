"""Print the JSON Schema of a record; without a name, list the names."""

from typing import Annotated

import typer

from bridge.api.record_schemas import schema_for, schema_names
from bridge.cli.output import say, say_json


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", show_default=False)
    ] = None,
) -> None:
    """Print one schema, or the names."""
    if name is None:
        say("\n".join(schema_names()))
    else:
        say_json(schema_for(name), pretty=True)
