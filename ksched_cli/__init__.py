"""ksched: what kube-scheduler would decide, and why, without a cluster."""

__version__ = "0.1.0"
