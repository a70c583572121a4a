"""`doctor` says what is wrong with rules, and what waits for trust."""

from bridge.doctor import rules
from bridge.doctor.finding import Verdict, problem

RULES = "on_stop: [{when: %s, block: x}]\n"


def write(folder, condition):
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "rules.yaml").write_text(RULES % condition)
    return folder / "rules.yaml"


def test_without_rules_there_is_nothing_to_say(patient):
    assert patient.found(rules.files) == []


def test_rules_in_force(patient):
    file = write(patient.bridge, "depth")

    (finding,) = patient.found(rules.files)

    assert (finding.verdict, finding.found) == (Verdict.OK, f"1 in {file}")


def test_a_projects_rules_before_trust(patient):
    file = write(patient.project / ".bridge", "depth")

    first, second = patient.found(rules.files)

    assert (first.verdict, second.verdict) == (Verdict.WARNING, Verdict.OK)
    assert first.found == f"{file} is not trusted as it is"
    assert first.cure.endswith("hostbridge trust")


def test_a_rule_with_an_error(patient):
    file = write(patient.bridge, "dept > 1")

    (finding,) = patient.found(rules.files)

    assert finding.verdict is Verdict.PROBLEM
    assert finding.found.startswith(f"{file}:1:18: on_stop[0].when: unknown name")
    assert finding.cure == "hostbridge rules check"


def test_error_a_newer_record_of_trust(patient):
    """Rules would only be said to wait for trust, which this one cannot write down."""
    file = patient.bridge / "trust.json"
    file.parent.mkdir(mode=0o700)
    file.write_text('{"schemaVersion": 1, "until": 3}')

    assert patient.only(rules.trusted) == problem(
        f"{file}: until: not known to this hostbridge; update hostbridge",
        "nothing of any project counts as trusted: agents, rules, flows",
        "update hostbridge",
    )
