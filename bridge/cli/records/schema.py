"""Print the JSON Schema of a record; without a name, list the names.

For example:
  hostbridge schema
  hostbridge schema response > response.schema.json
"""

from argparse import Namespace

from bridge.api.record_schemas import schema_for, schema_names
from bridge.cli.common.options import option
from bridge.cli.common.output import say, say_json

OPTIONS = (
    option(
        "name", metavar="NAME", nargs="?", completes="records", help="Which record."
    ),
)


def command(options: Namespace) -> None:
    """Print one schema, or the names."""
    if options.name is None:
        say("\n".join(schema_names()))
    else:
        say_json(schema_for(options.name), pretty=True)
