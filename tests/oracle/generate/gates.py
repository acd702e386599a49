"""Values of --feature-gates: some that kube-scheduler takes, some that it refuses."""

import json
from pathlib import Path

from generate.world import Draft, Draw

KUBE = Path(__file__).parents[3] / "ksched_cli" / "kube"
GATES = sorted(
    {name for file in KUBE.glob("gates-*.json") for name in json.loads(file.read_bytes())["gates"]}
)
# Those that schedule, more often than the others.
SCHEDULING = (
    "OpportunisticBatching", "NodeDeclaredFeatures", "DRAExtendedResource", "DRADeviceTaints",
    "DRAConsumableCapacity", "DRAPartitionableDevices", "DynamicResourceAllocation",
    "GangScheduling", "GenericWorkload", "SchedulerQueueingHints", "AllAlpha", "AllBeta",
)  # fmt: skip


def setting(draw: Draw) -> str:
    name = draw.pick(SCHEDULING if draw.maybe(0.5) else GATES)
    if draw.wrong(0.05):
        return draw.pick((name, f"{name}=", f"{name}=maybe", f"{name}s=true", f" {name} = true "))
    return f"{name}={draw.pick(('true', 'true', 'false', 'false', 'False', '1', 't'))}"


def generate(draw: Draw) -> Draft:
    return Draft(gates=",".join(setting(draw) for _ in range(draw.pick((1, 1, 1, 2, 3)))))
