"""The feature gates that ksched follows; a gate of the scheduler that is in neither set is refused
when it is set to other than its default."""

from __future__ import annotations

# Both sides are implemented.
FOLLOWED: frozenset[str] = frozenset({"OpportunisticBatching"})

# They say when API calls are made, how a queue that waits for events works, or what is traced.
INVISIBLE: frozenset[str] = frozenset(
    {
        "ClearingNominatedNodeNameAfterBinding",
        "ComponentFlagz",
        "ComponentStatusz",
        "CoordinatedLeaderElection",
        "NominatedNodeNameForExpectation",
        "SchedulerAsyncAPICalls",
        "SchedulerAsyncPreemption",
        "SchedulerPopFromBackoffQ",
        "SchedulerQueueingHints",
    }
)
