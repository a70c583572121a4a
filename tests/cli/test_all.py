"""`wait --all` and `cancel --all`, and what Ctrl-C says of requests."""

import signal

import pytest
from trustworld import Terminal


def test_wait_for_all(project, host):
    """Those that have ended are not waited for."""
    with host.serving():
        project.run("ask", "Done before")
    first, *_ = sorted(project.submit(f"question {n}") for n in range(3))

    ran = project.run("wait", "--all", "-t", "0.1")

    ran.refuses(5, f"hostbridge: request {first} (and 2 more): no answer")


@pytest.mark.parametrize("command", ["wait", "cancel"])
def test_nothing_is_left(project, command):
    ran = project.run(command, "--all")

    assert ran == (0, "", "hostbridge: nothing waits or runs here\n")


def test_cancel_all_with_a_yes(project):
    ids = sorted(project.submit(f"question {n}") for n in range(2))

    ran = project.run("cancel", "-ay")

    ran.prints(0, "".join(f"cancelled {each}\n" for each in ids))


def test_error_cancel_all_with_nobody_to_ask(project):
    project.submit()

    ran = project.run("cancel", "--all", start_new_session=True)

    ran.fails(
        2, f"cancel --all would cancel 1 request of {project.folder}, and there is no "
        "terminal to ask on; add --yes",
    )  # fmt: skip
    assert project.bridge.overview().waiting == 1


@pytest.mark.parametrize(("answer", "left"), [("yes", 0), ("no", 2)])
def test_cancel_all_asks_on_the_terminal(project, answer, left):
    """Which they are, and how many, is said before."""
    ids = sorted(project.submit(f"question {n}") for n in range(2))
    terminal = Terminal(project, "cancel", "--all")
    terminal.read_until("agree: ")
    question = f"Cancel 2 requests of {project.folder}? Type yes to agree: "
    assert terminal.seen.splitlines() == [*ids, "", question]

    terminal.type(f"{answer}\n")

    assert terminal.end() == (2 if left else 0)
    assert project.bridge.overview().waiting == left


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_wait_leaves_the_request(project, host, number):
    """And says how to wait for it again."""
    done, left = project.submit("first"), project.submit("second")
    host.answer(host.claim()[0], '{"status": "success", "summary": "yes"}')
    with project.start("wait", done, left) as process:
        assert process.stdout.readline()
        process.send_signal(number)
        out, err = process.communicate(timeout=300)

    assert (process.returncode, out) == (130, b"")
    still = f"still running: `hostbridge wait {left}` picks it up"
    assert err.decode() == f"hostbridge: interrupted; {still}\n"
    assert project.response(left) is None
