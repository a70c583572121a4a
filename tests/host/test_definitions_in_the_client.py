"""Defined agents with the real client: what it runs, what it lets them do."""

import pytest
from hostworld import bash, by_name, code_of, host_world, named

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

HOWS = ("one-shot", "stream")
GOOD = '{"status": "success", "summary": "s"}'
WORKER = "prompt: 'As told: {{ task }}'\n"


@pytest.mark.parametrize("how", HOWS)
def test_an_agent_is_what_its_definition_says(tmp_path, how):
    """Its words, its form of answer, in the client's agent of its choice.

    Of one's calls one is kept from it, one is granted, one would need a person. A model
    that never stops calling tools is ended, and the asker told why.
    """
    write = reply(tool_use("Write", {"file_path": "made", "content": "x"}))
    agents = {
        "told": [reply('{"n": 3}')],
        "bound": [write, bash("touch granted"), bash("touch a; touch b"), reply(GOOD)],
        "hasty": [bash("true")],
    }
    schema = "output_schema: {type: object, required: [n]}\n"

    with host_world(tmp_path, obedient_model(by_name(agents))) as world:
        world.define("told", f"{WORKER}subagent_type: Explore\nmodel: opus\n{schema}")
        world.define("bound", f"{WORKER}tools: [Bash]\nallow: ['Bash(touch *)']\n")
        world.define("hasty", f"{WORKER}max_turns: 2\nallow: [Bash]\n")
        questions = {f"{named(name)} {{{{ x }}}}": {"agent": name} for name in agents}
        told, bound, hasty = world.serve_all(how, questions)

    def turns_of(name):
        return [t for t in world.api.turns("subagent") if named(name) in t.prompt]

    turn = turns_of("told")[0]
    assert (told.parsed_output, told.degraded) == ({"n": 3}, False)
    asked = f"As told: {named('told')} {{{{ x }}}}\n\n## How to answer"
    assert turn.prompt.startswith(asked)
    assert '"required": ["n"]' in turn.prompt
    assert "opus" in turn.model
    assert "file search specialist" in turn.system_text

    made = {path.name for path in world.stage.project.iterdir()}
    kept, _, refused = (r.text for t in turns_of("bound") for r in t.tool_results)
    assert bound.success, bound
    assert "keeps Write from it" in kept
    assert "not granted to this agent" in refused
    assert made & {"made", "granted", "a", "b"} == {"granted"}

    assert code_of(hasty) == "turn_limit"
    # Two calls, two warnings and the end; a busy machine offers it once more.
    assert len(turns_of("hasty")) <= 10
