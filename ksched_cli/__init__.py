"""ksched: what kube-scheduler would decide, and why, without a cluster."""

import os
import sys

__version__ = "0.1.0"


def program_name() -> str:
    """Return the name that the program was called by: "kubectl ksched" as a plugin of kubectl;
    "ksched" for `python -m ksched_cli` and in other programs."""
    name = os.path.basename(sys.argv[0])
    if name == "kubectl-ksched":
        return "kubectl ksched"
    return name if name.endswith("ksched") else "ksched"
