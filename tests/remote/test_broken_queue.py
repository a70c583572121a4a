"""Redis is not there, goes away, forgets, is full, or refuses: what is said of it."""

import json
import os
import subprocess
import sys
import threading
import time

import needs
import pytest
import redisworld
from remoteworld import Machine, acting, until
from servingworld import GOOD, saying, until_stopped

from bridge.errors import NoQueue
from bridge.protocol.ids import RequestId
from bridge.protocol.outcome import Outcome
from bridge.remote.forward import open_queue
from bridge.remote.health import lines_of, troubles
from bridge.remote.keys import Needs, read_address
from bridge.remote.queue import Queue

A = RequestId("a")
SECRET = "not-in-any-record"  # noqa: S105 - of a server of this test


def hostbridge(
    machine: Machine, *words: str, under: tuple[str, ...] = (), **env: str
) -> subprocess.CompletedProcess:
    usual = {"BRIDGE_HOME": str(machine.settings.home), "PATH": os.environ["PATH"]}
    usual |= {
        "HOME": str(machine.settings.home),
        "BRIDGE_QUEUE": machine.settings.queue,
    }
    return subprocess.run(
        [*under, sys.executable, "-m", "bridge", *words],
        cwd=machine.project,
        env=usual | env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def own():
    with redisworld.server() as made:
        yield made


@pytest.fixture
def here(tmp_path, own):
    return Machine(tmp_path / "here", own.address)


@pytest.fixture
def there(tmp_path, own):
    return Machine(tmp_path / "there", own.address)


def test_error_redis_is_down(tmp_path):
    """At once, with exit code 4, and before anything is asked."""
    machine = Machine(tmp_path, read_address("redis://127.0.0.1:1/0?name=shop"))

    ran = hostbridge(machine, "ask", "--route", "remote", "hi", "--json")

    assert ran.returncode == 4
    assert '"code":"no_queue"' in ran.stdout.replace(" ", "")
    assert not [*machine.store.place.state.glob("*/*.json")]
    assert hostbridge(machine, "serve", "--queue", "--once").returncode == 4
    assert hostbridge(machine, "status", "--queue").returncode == 4


@pytest.mark.parametrize("how", ["restarted", "emptied"])
def test_a_restart_in_the_middle_loses_nothing(here, there, own, how):
    """What Redis has forgotten is put there again, and its answer counts."""
    gate = threading.Event()

    def slow(*_):
        gate.wait(60)
        return Outcome(GOOD)

    here.asks()
    with there.serving(acting(slow)):
        thread = threading.Thread(target=here.forward)
        thread.start()
        until(lambda: there.store.find(A))
        own.empty() if how == "emptied" else own.kill()
        time.sleep(0.3)
        own.start()
        gate.set()
        thread.join(timeout=60)

    assert here.response().success
    assert here.response().parsed_output == there.response().parsed_output


def test_a_redis_that_stays_away_ends_at_the_deadline(here, own):
    here.asks(timeout=4000)
    thread = threading.Thread(target=here.forward)
    thread.start()
    time.sleep(1.0)
    own.kill()
    thread.join(timeout=60)

    error = here.response().error
    assert error.code == "timeout"
    assert "cannot be reached" in error.message or "nobody has taken" in error.message


def test_error_a_full_redis_is_named(here, own):
    own.client().config_set("maxmemory", "1")
    here.asks()

    here.forward()

    assert here.response().error.code == "no_queue"
    assert "it is full (maxmemory)" in here.response().error.message


def test_the_password_is_nowhere(tmp_path):
    """In no record, no screen, no log and no argument; from a variable or a file."""
    with redisworld.server(f"requirepass {SECRET}") as own:
        machine = Machine(tmp_path / "m", own.address)
        file = tmp_path / "secret"
        file.write_text(SECRET + "\n")
        without = hostbridge(machine, "status", "--queue")
        wrong = hostbridge(machine, "status", "--queue", BRIDGE_QUEUE_PASSWORD=own.url)
        said = [
            hostbridge(machine, *words, **env)
            for words in (
                ("status", "--queue"),
                ("ask", "--route", "remote", "--timeout", "2s", "hi"),
                ("serve", "--queue", "--routes", "claude", "--once"),
                ("config",),
                ("doctor", "--all"),
            )
            for env in (
                {"BRIDGE_QUEUE_PASSWORD": SECRET, "BRIDGE_CLAUDE": "/bin/true"},
                {"BRIDGE_QUEUE_PASSWORD_FILE": str(file), "BRIDGE_CLAUDE": "/bin/true"},
            )
        ]
        logged = (own.folder / "log").read_text()

    assert (without.returncode, wrong.returncode) == (4, 4)
    assert "it wants a password" in without.stderr or "refuses" in without.stderr
    assert "refuses this user or password" in wrong.stderr
    assert [ran.returncode for ran in said[:6]] == [0, 0, 5, 5, 0, 0]
    assert not [ran for ran in said if SECRET in ran.stdout + ran.stderr]
    assert SECRET not in logged
    files = [each for each in machine.settings.home.rglob("*") if each.is_file()]
    assert files
    assert not [each for each in files if SECRET.encode() in each.read_bytes()]


def test_error_a_user_without_rights(own):
    """What its ACL refuses is named, with the page that lists what it needs."""
    own.client().execute_command(
        "ACL", "SETUSER", "poor", "on", f">{SECRET}", "~hb:*", "+@connection"
    )
    url = own.url.replace("redis://", "redis://poor@")
    queue = Queue(read_address(url), SECRET)
    queue.check()

    with pytest.raises(NoQueue) as caught:
        queue.look()

    assert not caught.value.passes
    assert "its ACL refuses this user something" in caught.value.what
    assert caught.value.ways == (
        "give the user the rights that docs/many-machines.md lists",
    )


RIGHTS = (
    "~hb:{shop}:*", "+@read", "+@write", "+@connection", "+@scripting",
    "-@dangerous", "+time", "+info", "+config|get",
)  # fmt: skip


def test_the_rights_of_the_page_are_enough(tmp_path, own):
    """And they let nobody touch another queue."""
    own.client().execute_command(
        "ACL", "SETUSER", "worker", "on", f">{SECRET}", *RIGHTS
    )
    url = own.url.replace("redis://", "redis://worker@")
    here, there = (
        Machine(tmp_path / name, own.address, queue=url, queue_password=SECRET)
        for name in ("here", "there")
    )
    here.asks()
    with there.serving(saying(GOOD)):
        answer = here.forward()
    other = Queue(read_address(url.replace("shop", "other")), SECRET)

    assert answer.success
    with pytest.raises(NoQueue, match="its ACL refuses"):
        other.put(
            "x", b"{}", Needs(agent="a"), level="low", left_ms=1, tries=1, to="",
            machine="m",
        )  # fmt: skip
    page = (redisworld.Path(__file__).parents[2] / "docs/many-machines.md").read_text()
    assert f"ACL SETUSER hostbridge on >PASSWORD {' '.join(RIGHTS)}" in page


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A certificate for localhost, and one that nobody knows."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("known", "strange"):
        subprocess.run(
            [
                needs.tool("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem",
                "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1",
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
    return folder


def test_tls_is_checked(certificates):
    """The right certificate works; a wrong one is named, and nothing is sent."""
    port = redisworld.free_port()
    settings = (
        f"tls-port {port}\ntls-cert-file {certificates}/known.pem\n"
        f"tls-key-file {certificates}/known.key\ntls-auth-clients no\n"
    )
    with redisworld.server(settings):
        url = f"rediss://127.0.0.1:{port}/0?name=shop"
        good = Queue(read_address(f"{url}&ca={certificates}/known.pem"), None)
        good.check()
        for ca in ("", f"&ca={certificates}/strange.pem"):
            with pytest.raises(NoQueue) as caught:
                Queue(read_address(url + ca), None).check()
            assert not caught.value.passes
            assert "its certificate is not trusted" in caught.value.what


def test_what_is_wrong_has_a_line_and_a_cure(here, there, own):
    client = own.client()
    client.config_set("appendonly", "no")
    client.config_set("maxmemory", "100mb")
    client.config_set("maxmemory-policy", "allkeys-lru")
    here.commit()
    here.agent("lint")
    there.agent("lint", "Another prompt.")
    here.asks("a", agent_type="lint", timeout=1)
    queue = open_queue(here.settings)
    put = {"level": "high", "left_ms": 60_000, "tries": 1, "to": "", "machine": "m"}
    with there.serving() as taker:
        for name, needs_ in (
            ("1", Needs(agent="lint", digest="d", project=taker.here.project)),
            ("2", Needs(agent="general-purpose", project="another")),
            ("3", Needs(agent="none", digest="d", project=taker.here.project)),
            ("4", Needs(agent="none", route="local", project=taker.here.project)),
        ):
            queue.put(f"{'c' * 16}.{name}.0", b"{}", needs_, **put)
        until(lambda: queue.look().machines)
        found = [each.found for each in troubles(queue, here.settings)]
        shown = "\n".join(lines_of(queue))
    alone = [each.found for each in troubles(queue, here.settings)]

    name = taker.here.name
    told = "\n".join(found)
    assert "has `appendonly no`" in told
    assert "has `maxmemory-policy allkeys-lru`" in told
    assert f"agent `lint` d: {name} has another definition of it" in told
    assert f"it is of the project another, and {name} (shop) serves another" in told
    assert "agent `none` d: no machine has this agent" in told
    assert "agent `none` on local: no machine offers the route local" in told
    assert f"  {name}: claude; 0 of 1 at work; project shop" in shown
    assert "waiting: 4 high, 0 normal, 0 low; held: 0; the oldest for" in shown
    assert any("no machine serves this queue" in each for each in alone)


def test_deadlines_hold_whatever_the_clocks_say(here, there):
    """The clock of one machine is an hour ahead: nobody compares it with another."""
    ahead = (needs.tool("faketime"), "-f", "+1h")
    with there.serving():
        asked = hostbridge(
            here, "ask", "--route", "remote", "--timeout", "60s", "hi", under=ahead
        )
    shown = hostbridge(here, "status", "--queue", "--json", under=ahead)
    told = hostbridge(here, "doctor", under=ahead)

    assert asked.returncode == 0, asked.stderr
    assert -3700 < json.loads(shown.stdout)["clockAheadS"] < -3500
    assert "the clock of Redis differs by" in " ".join(told.stdout.split())


def test_a_stopped_agent_is_none_of_ours(here, there):
    """Switching off where it is served ends it; its asker hears why."""
    here.asks(max_attempts=1)
    with there.serving(acting(until_stopped)):
        thread = threading.Thread(target=here.forward)
        thread.start()
        until(lambda: there.store.find(A))
        from bridge.store.switch import switch_off

        switch_off(there.store)
        thread.join(timeout=60)

    assert here.response().error.code == "agent_stopped"
