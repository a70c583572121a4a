"""The real Claude Code client on a stage: a scripted model, a clean home, no network.

Tests of hooks and plugins use it, ours, the demo and the benchmarks too, to see what
the client does, not what one believes it does. It needs the standard library alone and
`bridge.config`; nothing that hostbridge does at run time imports it.

    from pathlib import Path
    from tempfile import mkdtemp

    from bridge.testing.stage.api import ScriptedApi
    from bridge.testing.stage.client import Stage
    from bridge.testing.stage.models import obedient_model
    from bridge.testing.stage.oneshot import run_print
    from bridge.testing.stage.stream import StreamSession
    from bridge.testing.stage.terminal import TerminalSession

    with ScriptedApi(obedient_model()) as api:
        stage = Stage(Path(mkdtemp()), api)
        stage.settings({"hooks": {...}})              # the project's local settings

        print(run_print(stage, "hello").text)         # claude -p, to its end

        with StreamSession(stage) as session:         # claude -p, prompt after prompt
            print(session.ask("hello")["result"])

        with TerminalSession(stage, mode="auto") as terminal:
            terminal.submit("hello")
            print(terminal.wait_for_text("ok"))

        for request in api.turns("main"):             # what the model was shown
            print(request.last_user_text)

| module | what it holds |
| --- | --- |
| api | `ScriptedApi`, the server |
| turns | `ApiRequest`: who asks, and what the model is shown |
| replies | `reply`, `text`, `tool_use`, `error`: what the model says |
| models | `obedient_model` and parts to make other models from |
| side | default answers to what the client asks besides its turns |
| client | `ensure_client` installs it once; `Stage` is the world it runs in |
| oneshot, stream, terminal | three ways to run it |
| processes | ending what was started |
| progress | what npm does meanwhile |

A model is a function from `ApiRequest` to an answer, called from several threads. The
client is found by `BRIDGE_TEST_CLAUDE`, or installed by npm below `BRIDGE_TEST_CACHE`
(default `~/.cache/hostbridge-tests`). A terminal needs tmux.
"""
