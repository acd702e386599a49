"""A mean with its 95 % interval, as a cell of a table."""

from collections.abc import Sequence

from ksched_cli.analysis.compare import Interval


def interval_text(values: Sequence[float], digits: int) -> str:
    """Return the mean, and half of its 95 % interval; "" without values."""
    if not values:
        return ""
    interval = Interval.of(values)
    return f"{interval.mean:.{digits}f} ± {(interval.high - interval.low) / 2:.{digits}f}"
