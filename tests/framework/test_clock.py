"""Simulated time and its alarms."""

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.handle import Clock

TIMES = st.floats(0, 100)


@given(st.lists(st.tuples(st.booleans(), TIMES)))
def test_time_never_goes_back_and_the_next_alarm_is_the_earliest_to_come(
    steps: list[tuple[bool, float]],
) -> None:
    clock, alarms, now = Clock(), set[float](), 0.0
    for is_alarm, time in steps:
        if is_alarm:
            clock.wake(time)
            alarms.add(time)
        else:
            clock.jump(time)
            now = max(now, time)
        alarms = {alarm for alarm in alarms if alarm > now}
        assert (clock.now, clock.next_alarm) == (now, min(alarms, default=None))


def test_an_alarm_that_is_due_already_never_rings() -> None:
    clock = Clock(now=5.0)
    clock.wake(5.0)
    assert clock.next_alarm is None
