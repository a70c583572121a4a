"""The real Claude Code client on a stage: a scripted model, a clean home, no network.

Tests, the demo and the benchmarks use it to see what the client does, not what we
believe it does. Nothing here imports hostbridge, and nothing of it is installed.

    from pathlib import Path
    from tempfile import mkdtemp

    from stage.api import ScriptedApi
    from stage.client import Stage
    from stage.models import obedient_model
    from stage.oneshot import run_print
    from stage.stream import StreamSession
    from stage.terminal import TerminalSession

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

A model is a function from `ApiRequest` to an answer, called from several threads. The
client is found by `BRIDGE_TEST_CLAUDE`, or installed by npm below `BRIDGE_TEST_CACHE`
(default `~/.cache/hostbridge-tests`). A terminal needs tmux.
"""
