"""A shell and the sessions of its project that do not share one state directory."""

import pytest

from bridge.doctor.elsewhere import open_elsewhere
from bridge.doctor.finding import warning

SHELLS = {
    "another home": (["BRIDGE_HOME"], "BRIDGE_HOME"),
    "another state": (["BRIDGE_STATE_DIR"], "BRIDGE_STATE_DIR"),
    "both": (["BRIDGE_STATE_DIR", "BRIDGE_HOME"], "BRIDGE_STATE_DIR and BRIDGE_HOME"),
}


@pytest.mark.parametrize(("names", "named"), SHELLS.values(), ids=SHELLS)
def test_a_session_in_the_default_place_is_found(patient, names, named):
    """A request asked here would wait for ever, next to a session that is open."""
    patient.opens()
    env = {name: str(patient.root / name) for name in names}
    place = patient.seen(**env).place

    findings = patient.found(open_elsewhere, **env)

    assert findings == [
        warning(
            f"1 open session of this project: in {patient.state}; this shell looks "
            f"into {place.state}",
            f"{named} is set in this shell, and was not where they started",
            f"unset {' '.join(names)}; or start the sessions with it",
        )
    ]
    assert not place.state.exists()


def test_a_session_under_the_same_home_is_found(patient):
    """Only the variable that leads away is named."""
    home = {"BRIDGE_HOME": str(patient.root / "other")}
    patient.opens(**home)

    (finding,) = patient.found(
        open_elsewhere, **home, BRIDGE_STATE_DIR=str(patient.root / "state")
    )

    assert finding.cure == "unset BRIDGE_STATE_DIR; or start the sessions with it"


@pytest.mark.parametrize("env", [{}, {"BRIDGE_HOME": "/nowhere/at/all"}])
def test_finds_nothing_if_nothing_differs(patient, env):
    patient.opens(**({} if not env else {"BRIDGE_HOME": str(patient.root)}))

    assert patient.found(open_elsewhere, **env) == []


def test_a_home_of_the_same_name_is_no_difference(patient):
    patient.opens()

    assert patient.found(open_elsewhere, BRIDGE_HOME=str(patient.bridge)) == []
