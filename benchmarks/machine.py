"""The machine that a benchmark ran on, in a line."""

import datetime
import os
import platform
from pathlib import Path

GIB = 1 << 30


def describe() -> str:
    """Date, processor, cores, memory, Python."""
    model = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = models[0] if models else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return (
        f"{datetime.date.today()}, {model}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"Python {platform.python_version()}."
    )
