"""The names in the plans of `validate` and `build`. Pure, and light: hooks load it."""

VALIDATE, BUILD = "validate", "build"
# Their tools, in `bridge.engine.build_tools`.
BRIEF, VERDICT, OUTCOME = "brief_builder", "aggregate_validation", "end_build"
BUILD_TOOLS = frozenset({BRIEF, VERDICT, OUTCOME})
# Who is asked where a build is escalated to an architect.
ARCHITECT = "architect"
# The variables: the verdict of the round before, what was said to it, and what the
# builder says.
LAST, ADVICE, SAID, BUILT = "verdict", "advice", "said", "built"
