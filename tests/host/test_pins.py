"""Where a session belongs, and which of several installs acts for it."""

import multiprocessing

import pytest
from hookworld import HookWorld, hook_world

from bridge.config import Settings
from bridge.protocol.claim import HostProcess
from bridge.store.host_process import identify
from bridge.store.location import locate
from bridge.store.pins import Pins
from bridge.store.store import Store

pytestmark = pytest.mark.slow

HERE = HostProcess(pid=7, start_time="1", boot="b")
LATER = HostProcess(pid=7, start_time="2", boot="b")


def pins_of(world: HookWorld) -> Pins:
    return Pins(world.store.place.guard)


def seen(world: HookWorld, kind: str, host: HostProcess, **fields: str) -> bool:
    known = {"session_id": world.session, "source": "startup", **fields}
    starts = known["source"] == "startup"
    return pins_of(world).own(
        world.store, known["session_id"], kind, host, starts=starts
    )


def test_the_first_install_acts_and_a_resumed_session_asks_again(world):
    here = [seen(world, kind, HERE) for kind in ("plugin", "local", "plugin")]
    later = [seen(world, kind, LATER) for kind in ("local", "plugin")]

    assert (here, later) == ([True, False, True], [True, False])


def test_an_install_that_does_not_act_is_silent(world):
    request = world.submit()
    said = []
    for kind in ("local", "plugin"):
        world.kind = kind
        said.append(world.say("UserPromptSubmit", prompt="hello"))

    assert request in str(said[0])
    assert said[1] == {}


def _ask(world: HookWorld, kind: str, ready: object, said: object) -> None:
    ready.wait()  # type: ignore[attr-defined]
    said.put((kind, seen(world, kind, HERE)))  # type: ignore[attr-defined]


def test_of_installs_at_once_one_acts(world):
    """They see each event in the same moment."""
    fork = multiprocessing.get_context("fork")
    for _ in range(20):
        pins_of(world).forget(world.session, HERE)
        ready, said = fork.Barrier(4), fork.Queue()
        kinds = ("local", "user", "project", "plugin")
        asked = [fork.Process(target=_ask, args=(world, k, ready, said)) for k in kinds]
        for each in asked:
            each.start()
        acting = [kind for kind, acts in (said.get(timeout=300) for _ in kinds) if acts]
        for each in asked:
            each.join(300)

        assert len(acting) == 1


def test_another_install_acts_after_an_uninstall(world):
    """The session stays where it belongs."""
    seen(world, "local", HERE)

    pins_of(world).disown("local")

    assert seen(world, "plugin", HERE)
    assert not seen(world, "local", HERE)
    assert pins_of(world).acts("plugin", world.store.place)


def test_an_uninstall_in_the_middle_of_an_event_silences_nobody(world, monkeypatch):
    """Its agent's answer would be lost."""
    seen(world, "local", HERE)
    pins_of(world).disown("local")

    # What is written is taken away at once.
    monkeypatch.setattr(Pins, "_write", lambda *_: None)

    assert seen(world, "local", HERE)


@pytest.mark.parametrize("source", ["startup", "resume", "clear"])
def test_only_a_new_session_has_no_agents_of_ours(world, source):
    """Of any other an agent may ask for a permission before it is noted here."""
    seen(world, "local", HERE, source=source)

    (pin,) = (world.store.place.guard / "pins").iterdir()
    assert (pin / "agents").exists() is (source != "startup")


def test_a_session_keeps_its_state(world):
    settings = Settings.from_environment()
    seen(world, "local", HERE)
    (world.project.parent / ".git").mkdir()

    found = Pins.of(settings).find(world.session, HERE)

    assert found.state == world.store.place.state != locate(settings, world.project)
    assert found.project == world.project
    # The same process under another id; another process.
    assert Pins.of(settings).find("session-2", HERE) == found
    assert Pins.of(settings).find("session-2", HERE, starts=True) is None
    assert Pins.of(settings).find(world.session, LATER) is None


def test_a_home_with_dots_in_its_path(world, tmp_path, monkeypatch):
    """What lies below it is ours, however the path is written."""
    monkeypatch.setenv("BRIDGE_HOME", f"{tmp_path}/project/../dotted")
    settings = Settings.from_environment()
    store = Store(locate(settings, world.project))
    Pins.of(settings).own(store, world.session, "local", HERE, starts=True)

    place = store.place._replace(reason="the session began in it")
    assert Pins.of(settings).find(world.session, HERE) == place


def test_error_a_pin_that_leads_out_of_our_folder(world, tmp_path):
    """Nothing of ours would write it."""
    seen(world, "local", HERE)
    (pin,) = (world.store.place.guard / "pins").iterdir()
    for target in (tmp_path, world.store.place.guard / "state/../../x", "relative"):
        (pin / "state").unlink()
        (pin / "state").symlink_to(target)

        assert Pins.of(Settings.from_environment()).find(world.session, HERE) is None


def test_pins_of_processes_that_are_gone_are_removed(tmp_path, monkeypatch):
    with hook_world(tmp_path, monkeypatch) as world:
        settings = Settings.from_environment()
        assert settings.host_pid is not None
        alive = identify(settings.host_pid)
        gone = alive.with_(pid=2**22 - 1)
        seen(world, "local", alive)
        seen(world, "local", gone, session_id="gone")

        pins_of(world).forget_gone()

        assert Pins.of(settings).find(world.session, alive) is not None
        assert Pins.of(settings).find("gone", gone) is None
