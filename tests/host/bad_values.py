"""Values that a field of a rule must survive: YAML, as somebody may write it."""

VALUES = {
    "null": "null",
    "yes": "true",
    "int": "7",
    "huge int": "9" * 4000,
    "float": "1.5",
    "nan": ".nan",
    "word": "word",
    "empty": "''",
    "spaces": "'  '",
    "list": "[]",
    "nested list": "[[x]]",
    "map": "{}",
    "odd keys": "{1: 2, null: 3}",
    "date": "2024-01-01",
    "binary": "!!binary aGk=",
    "NULs": '"' + r"\0" * 1000 + '"',
    "controls": r'"\e[31m\u202e\r"',
    "surrogate": r'"\ud800"',
    "shadows": "command",
    "dunder": "__class__",
    "long": "x" * 20_000,
    "brackets": "'" + "(" * 10_000 + "'",
    "nots": "'" + "not " * 10_000 + "x'",
    "arithmetic": "9 ** 9 ** 9",
    "never ends": "'{% for x in range(10000) %}{% for y in range(10000) %}"
    "{% endfor %}{% endfor %}'",
    "recursive": "'{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}'",
    "unclosed": "'{{ '",
    "attribute": "'{{ prompt.__class__.__mro__ }}'",
    "map of bad": "{command: 1, x: {y: [z]}}",
}
# These leave nothing of the file.
RUINS = {
    "deep": "[" * 10_000 + "]" * 10_000,
    "deep map": "{a: " * 10_000 + "}" * 10_000,
    "bomb": "[&a [x,x,x,x,x,x,x,x,x], &b [*a,*a,*a,*a,*a,*a,*a,*a,*a], "
    "&c [*b,*b,*b,*b,*b,*b,*b,*b,*b], &d [*c,*c,*c,*c,*c,*c,*c,*c,*c], "
    "&e [*d,*d,*d,*d,*d,*d,*d,*d,*d], [*e,*e,*e,*e,*e,*e,*e,*e,*e]]",
    "itself": "&me [*me]",
    "object": "!!python/object/apply:os.system [touch /tmp/no]",
    "unclosed": "[",
}
FIELDS = (
    "name", "when", "tools", "enabled", "priority", "required", "on_error",
    "spawn_agent", "spawn_agent.agent", "spawn_agent.prompt", "spawn_agent.arguments",
    "spawn_agent.model", "spawn_agent.block", "block", "inject_context",
    "set_variable", "set_variable.x", "increment_variable", "increment_variable.x",
    "unknown",
)  # fmt: skip
_SPAWN = {"agent": "general-purpose", "prompt": "p"}


def rule_with(field: str, value: str | None) -> list[str]:
    """The lines of a blocking rule about `ls`, one field of which is replaced."""
    outer, _, inner = field.partition(".")
    fields: dict[str, object] = {"when": "command == 'ls'", "block": "stop"}
    if outer == "spawn_agent":
        del fields["block"]
        fields["spawn_agent"] = dict(_SPAWN)
    if inner:
        fields[outer] = {**(_SPAWN if outer == "spawn_agent" else {}), inner: value}
    else:
        fields[outer] = value
    lines = []
    for name, each in fields.items():
        if isinstance(each, dict):
            lines.append(f"{name}:")
            lines += [f"  {n}: {v}" for n, v in each.items() if v is not None]
        elif each is not None:
            lines.append(f"{name}: {each}")
    return ["- " + lines[0], *("  " + line for line in lines[1:])]
