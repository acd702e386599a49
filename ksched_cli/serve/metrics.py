"""The counters of a server, in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True)
class Metrics:
    """gauges: name and help → the value as it is now"""

    gauges: Mapping[tuple[str, str], Callable[[], float]]
    _requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    _buckets: Counter[tuple[str, float]] = field(default_factory=Counter)
    _seconds: dict[str, float] = field(default_factory=dict)

    def count(self, verb: str, outcome: str, seconds: float) -> None:
        """A request that was answered. outcome: ok, or what went wrong"""
        self._requests[verb, outcome] += 1
        self._seconds[verb] = self._seconds.get(verb, 0.0) + seconds
        for bound in SECONDS:
            if seconds <= bound:
                self._buckets[verb, bound] += 1

    def text(self) -> str:
        return "\n".join([*self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        name = "ksched_extender_requests_total"
        yield from _head(name, "Requests by verb and outcome.", "counter")
        for (verb, outcome), count in sorted(self._requests.items()):
            yield f'{name}{{verb="{verb}",outcome="{outcome}"}} {count}'
        name = "ksched_extender_request_duration_seconds"
        yield from _head(name, "Time from a request's last byte to its answer.", "histogram")
        for verb, seconds in sorted(self._seconds.items()):
            total = sum(count for (each, _), count in self._requests.items() if each == verb)
            for bound in SECONDS:
                yield f'{name}_bucket{{verb="{verb}",le="{bound:g}"}} {self._buckets[verb, bound]}'
            yield f'{name}_bucket{{verb="{verb}",le="+Inf"}} {total}'
            yield f'{name}_sum{{verb="{verb}"}} {seconds:.6f}'
            yield f'{name}_count{{verb="{verb}"}} {total}'
        for (gauge, about), value in self.gauges.items():
            yield from _head(gauge, about, "gauge")
            yield f"{gauge} {value():g}"


def _head(name: str, about: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
