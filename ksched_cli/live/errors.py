"""What can go wrong with a cluster's API server. Each is one message, and exit code 2."""

from __future__ import annotations

import msgspec

from ksched_cli.errors import KschedError

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding an answer raises that is no JSON, or no JSON of the expected shape."""


class ClusterError(KschedError):
    """A cluster that does not answer, or not what is expected."""


class UnauthorizedError(ClusterError):
    """The API server does not accept the credentials."""


class KubeconfigError(ClusterError):
    """A kubeconfig that is missing, broken, or without the context in question."""


class MissingClientError(KschedError):
    """The client library is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "reading a live cluster needs the Kubernetes client: in the folder of ksched's source, "
            "pip install '.[live]'"
        )


class StatusError(ClusterError):
    """An answer that is not a success. status: of HTTP; reason: the API server's message."""

    def __init__(self, server: str, path: str, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(f"{server}{path}: {status} {reason}")
