"""A workload kind that ksched does not know: a Farm with a number of workers."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ksched_cli.api import hookimpl

KSCHED_API = 3


def workers(farm: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The pods that the Farm's controller would create."""
    for number in range(farm["spec"]["workers"]):
        name = f"{farm['metadata']['name']}-{number}"
        yield {"metadata": {"name": name}, "spec": farm["spec"]["template"]}


@hookimpl
def ksched_workloads() -> Mapping[str, Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]]]:
    return {"Farm.example.com": workers}
