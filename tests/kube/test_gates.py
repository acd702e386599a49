"""The gates that may be set are gates of some minor, and in one set only."""

from ksched_cli.kube.gates import FOLLOWED, FOLLOWED_FROM_BETA, INVISIBLE
from ksched_cli.kube.versions import MINORS, release_of


def test_every_gate_is_one_of_some_minor_and_stands_once() -> None:
    gates = {gate for minor in MINORS for gate in release_of(minor).gates}
    assert gates >= FOLLOWED | FOLLOWED_FROM_BETA | INVISIBLE
    names = [*FOLLOWED, *FOLLOWED_FROM_BETA, *INVISIBLE]
    assert len(names) == len(set(names))
