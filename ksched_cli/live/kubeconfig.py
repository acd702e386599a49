"""From a kubeconfig, or the cluster that this runs in, to a connection: as kubectl finds them.

Credentials (client certificates, tokens, plugins that are run for them), proxies and servers' names
are the Kubernetes client's matter; here is which file and context, and one message for each error.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from ksched_cli.live.client import ApiServer, Identity, KubeconfigError, MissingClientError

VARIABLE = "KUBECONFIG"
DEFAULT = "~/.kube/config"
IN_CLUSTER = "the cluster that this runs in"


class ClusterOptions(Struct, frozen=True):
    """kubeconfig: its path, context: one of its contexts; "" as kubectl finds them."""

    kubeconfig: str = ""
    context: str = ""


class _Kubeconfig(Struct, frozen=True):
    """Several files are read as one. contexts: name → what it holds."""

    path: str
    contexts: dict[str, dict[str, Any]]
    current: str

    @property
    def shown(self) -> str:
        return self.path.replace(os.pathsep, ", ")


def connect(options: ClusterOptions) -> ApiServer:
    """By --kubeconfig, else $KUBECONFIG, else ~/.kube/config, else the cluster that this runs in.
    Raises KubeconfigError, MissingClientError."""
    try:
        import kubernetes.config  # noqa: F401  # whether it is there
    except ImportError:
        raise MissingClientError from None
    paths = _paths(options)
    if paths:
        return _of_context(_read(os.pathsep.join(paths)), options.context)
    missing = f"--kubeconfig is not given, ${VARIABLE} names no file, and there is no {DEFAULT}"
    if options.context:
        raise KubeconfigError(f'no context "{options.context}": {missing}')
    return _in_cluster(missing)


def _paths(options: ClusterOptions) -> list[str]:
    """The kubeconfigs that there are. Raises KubeconfigError for a missing one that was named."""
    if options.kubeconfig:
        if not os.path.isfile(os.path.expanduser(options.kubeconfig)):
            raise KubeconfigError(f"{options.kubeconfig}: there is no such kubeconfig")
        return [options.kubeconfig]
    named = os.environ.get(VARIABLE, "") or DEFAULT
    return [path for path in named.split(os.pathsep) if os.path.isfile(os.path.expanduser(path))]


def _read(path: str) -> _Kubeconfig:
    """Raises KubeconfigError where it is none."""
    from kubernetes.config.kube_config import KubeConfigMerger

    try:
        merged = KubeConfigMerger(path).config.value
        contexts = {
            str(entry["name"]): dict(entry.value["context"] or {}) for entry in merged["contexts"]
        }
        return _Kubeconfig(path, contexts, str(merged.get("current-context") or ""))
    except Exception as error:  # the library raises whatever a broken file leads it to
        shown = path.replace(os.pathsep, ", ")
        raise KubeconfigError(f"{shown}: not a kubeconfig: {_flattened(error)}") from None


def _of_context(kubeconfig: _Kubeconfig, context: str) -> ApiServer:
    from kubernetes import config
    from kubernetes.client.configuration import Configuration

    name, shown = context or kubeconfig.current, kubeconfig.shown
    names = ", ".join(kubeconfig.contexts) or "none"
    if not name:
        raise KubeconfigError(f"{shown}: no current-context; --context names one of: {names}")
    if name not in kubeconfig.contexts:
        raise KubeconfigError(f'{shown}: no context "{name}"; there are: {names}')
    configuration = Configuration()
    with _logged_errors() as errors:
        try:
            config.load_kube_config(kubeconfig.path, name, configuration)
        except Exception as error:  # as above
            errors.append(_flattened(error))
    if errors:
        raise KubeconfigError(f"{shown}: context {name} cannot be used: {'; '.join(errors)}")
    namespace = str(kubeconfig.contexts[name].get("namespace") or "default")
    return ApiServer(configuration, Identity(f"context {name} of {shown}", namespace))


def _in_cluster(missing: str) -> ApiServer:
    from kubernetes import config
    from kubernetes.client.configuration import Configuration
    from kubernetes.config.incluster_config import SERVICE_TOKEN_FILENAME

    configuration = Configuration()
    try:
        config.load_incluster_config(configuration)
    except config.ConfigException:
        raise KubeconfigError(
            f"no cluster to read: {missing}, and ksched does not run inside a cluster"
        ) from None
    file = Path(SERVICE_TOKEN_FILENAME).with_name("namespace")
    namespace = file.read_text().strip() if file.is_file() else "default"
    return ApiServer(configuration, Identity(IN_CLUSTER, namespace))


def _flattened(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


class _Collecting(logging.Handler):
    """Collects messages of errors in `lines`."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(" ".join(record.getMessage().split()))


@contextmanager
def _logged_errors() -> Iterator[list[str]]:
    """The library logs what is wrong with a plugin for credentials, and continues without them."""
    handler = _Collecting()
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield handler.lines
    finally:
        root.removeHandler(handler)
