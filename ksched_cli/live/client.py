"""GET requests to an API server, and the way to it: from a kubeconfig, or the cluster that this
runs in, to a connection, as kubectl finds them.

Credentials (client certificates, tokens, plugins that are run for them), proxies and servers' names
are the Kubernetes client's matter; here is which file and context, and one message for each error.
The Kubernetes client is imported when a connection is made, and not before.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess  # nosec B404  # bounds the programs that the Kubernetes client starts
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from ksched_cli.errors import KschedError
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.small_files import read_small_file

if TYPE_CHECKING:
    from kubernetes.client.configuration import Configuration
    from urllib3 import BaseHTTPResponse, PoolManager, Timeout

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
            "pip install '.[live]'\n  --state FILE reads a file instead"
        )


class StatusError(ClusterError):
    """An answer that is not a success. status: of HTTP; reason: the API server's message."""

    def __init__(self, server: str, path: str, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(f"{server}{path}: {status} {reason}")


# -- the connection -------------------------------------------------------------------------------

# An API server that answers sends the first byte of a page of objects within seconds.
_CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
# All of an answer: an API server ends requests that are no watches after a minute by default.
ANSWER_SECONDS = 300.0
# The bytes of an answer: a page of 500 pods has some 5 MB. A whole list has no such bound.
MAX_ANSWER = 256 << 20
MAX_WHOLE_LIST = 16 << 30
# The bytes of a line of a watch, an object: etcd takes 1.5 MiB.
MAX_LINE = 16 << 20
# A program for credentials may ask a person to log in: kubelogin waits as long for that.
PROGRAM_SECONDS = 180.0
# Where a pod has the token of its service account.
_SERVICE_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # nosec B105  # a path
# How often a request is sent again after an answer that may pass (429, 5xx) or a connection that
# was closed before the answer was complete, and how long before: twice as long each time.
RETRIES = 3
BACKOFF_SECONDS = 0.5
_MOST_BACKOFF_SECONDS = 10.0
_OK = 200
_TOO_MANY_REQUESTS = 429
_SERVER_ERRORS = 500
# A watch of every resource, and a list beside.
_CONNECTIONS = 64
_CHUNK = 65_536
_MAX_ERROR = 100_000
# What urllib3's messages begin with.
_CONNECTION = re.compile(
    r"^(None|<[^>]*>|HTTPS?Connection(Pool)?\([^)]*\)): (Failed to [^:]*: )?(\[Errno -?\d+\] )?"
)
_UNAUTHORIZED = 401


class Identity(Struct, frozen=True):
    """Where the connection's settings come from.

    source: "context NAME of PATH", or "the cluster that this runs in"
    namespace: of the context, or of the service account
    """

    source: str
    namespace: str


class ApiServer:
    """GET requests to one API server, over kept connections. url: as in the kubeconfig."""

    def __init__(self, configuration: Configuration, identity: Identity) -> None:
        from urllib3 import disable_warnings
        from urllib3.exceptions import InsecureRequestWarning

        # Where certificates are not checked, the kubeconfig says so.
        disable_warnings(InsecureRequestWarning)
        self.identity = identity
        self.url: str = configuration.host
        configuration.connection_pool_maxsize = _CONNECTIONS
        self._configuration = configuration
        self._streams: set[BaseHTTPResponse] = set()
        self._streams_ended = False
        self._certificates: tuple[int, ...] | None = None
        try:
            self._pool()
        except Exception as error:  # unreadable certificates, a proxy's scheme that it cannot
            raise KubeconfigError(f"{identity.source} cannot be used: {error}") from None

    def _pool(self) -> PoolManager:
        """Return the pool of connections to the server: a new one after a certificate file changed.

        All of them share what TLS needs. urllib3 would read the certificates for each connection,
        and memory would grow with every one that breaks, by 0.4 MiB.
        """
        from kubernetes.client.rest import RESTClientObject
        from urllib3.util.ssl_ import create_urllib3_context

        settings = self._configuration
        files = (settings.ssl_ca_cert, settings.cert_file, settings.key_file)
        written = tuple(os.stat(file).st_mtime_ns for file in files if file)
        if written != self._certificates:
            pool = RESTClientObject(settings).pool_manager
            parts = pool.connection_pool_kw
            context = create_urllib3_context(cert_reqs=parts["cert_reqs"])
            authorities, data = parts.pop("ca_certs"), parts.pop("ca_cert_data", None)
            # Without TLS, as to `kubectl proxy`, the system's certificates need not be loaded.
            urls = (self.url, settings.proxy or "http:")
            are_plain = all(url.startswith("http:") for url in urls)
            if authorities or data:
                context.load_verify_locations(authorities, cadata=data)
            elif settings.verify_ssl and not are_plain:
                context.load_default_certs()
            certificate, key = parts.pop("cert_file"), parts.pop("key_file")
            if certificate:
                context.load_cert_chain(certificate, key)
            parts["ssl_context"] = context
            self._connections, self._certificates = pool, written
        return self._connections

    def get(
        self,
        path: str,
        parameters: Mapping[str, str] | None = None,
        what: str = "",
        most: int | None = None,
    ) -> bytes:
        """Return the body of a successful answer. what: what is read, for errors; most: how many
        bytes, MAX_ANSWER by default.

        Raises StatusError for any other, ClusterError if there is none.
        """
        import urllib3

        url = f"{self.url}{path}" + (f"?{urlencode(parameters)}" if parameters else "")
        try:
            response, body = self._answer(url, MAX_ANSWER if most is None else most)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            reading = f" while {what} were read" if what else ""
            raise ClusterError(
                f"the API server at {self.url} does not answer{reading}: {_cause(error)}"
                f" ({self.identity.source})"
            ) from None
        if response.status != _OK:
            raise self._status_error(path, response.status, body)
        return body

    @contextmanager
    def stream(
        self, path: str, parameters: Mapping[str, str], silent_seconds: float
    ) -> Iterator[Iterator[bytes]]:
        """The lines of an answer that does not end, as they come, until
        `end_streams`. silent_seconds: after so long without a byte the server hangs.

        Raises StatusError, ClusterError, also while they are read."""
        import urllib3

        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=silent_seconds)
        headers = {**self._headers(), "Accept-Encoding": "identity"}
        url, response = f"{self.url}{path}?{urlencode(parameters)}", None
        try:
            response = self._begun(url, headers, timeout)
            if response.status != _OK:
                raise self._status_error(path, response.status, response.read(_MAX_ERROR))
            self._streams.add(response)
            if self._streams_ended:
                raise ValueError("no stream is read any more")
            yield _lines(response)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise ClusterError(
                f"the API server at {self.url} does not answer: {_cause(error)}"
            ) from None
        finally:
            if response is not None:
                self._streams.discard(response)
                response.close()

    def _begun(self, url: str, headers: Mapping[str, str], timeout: Timeout) -> BaseHTTPResponse:
        """Return an answer whose body is not read yet. A kept connection that the server has closed
        meanwhile is no outage: another is tried, as in Go. Raises errors of urllib3."""
        from urllib3.exceptions import ProtocolError

        request = partial(
            self._pool().request,
            "GET",
            url,
            headers=headers,
            retries=False,
            timeout=timeout,
            preload_content=False,
        )
        try:
            return request()
        except ProtocolError:
            return request()

    def end_streams(self) -> None:
        """Whoever reads one gets no more of it, and no other."""
        self._streams_ended = True
        for response in tuple(self._streams):
            with suppress(OSError, RuntimeError, ValueError):
                response.shutdown()

    def _answer(self, url: str, most: int) -> tuple[BaseHTTPResponse, bytes]:
        """Return the first answer that is not likely to be another a moment later, else the last
        one; with its body. Raises errors of urllib3, and ValueError for a body without an end."""
        import urllib3

        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=READ_SECONDS)
        backoff = BACKOFF_SECONDS
        for remaining in range(RETRIES, -1, -1):
            retry_after = 0.0
            try:
                response = self._pool().request(
                    "GET",
                    url,
                    headers=self._headers(),
                    retries=False,
                    timeout=timeout,
                    preload_content=False,
                )
                body = _body(response, most)
            except urllib3.exceptions.ProtocolError:
                if not remaining:
                    raise
            else:
                status = response.status
                may_pass = status == _TOO_MANY_REQUESTS or status >= _SERVER_ERRORS
                if not (remaining and may_pass):
                    break
                retry_after = float(parse_int64(response.headers.get("Retry-After")) or 0)
            time.sleep(min(max(backoff, retry_after), _MOST_BACKOFF_SECONDS))
            backoff *= 2
        return response, body

    def _headers(self) -> dict[str, str]:
        """With a token as fresh as the kubeconfig's plugin makes it."""
        token = self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "ksched"}
        return {**headers, "Authorization": token} if token else headers

    def _status_error(self, path: str, status: int, body: bytes) -> ClusterError:
        try:
            reason = str(msgspec.json.decode(body)["message"])
        except (*UNREADABLE, KeyError, TypeError):
            reason = body[:200].decode("utf-8", "replace").strip() or "no reason given"
        if status == _UNAUTHORIZED:
            return UnauthorizedError(
                f"the API server at {self.url} does not accept the credentials of "
                f"{self.identity.source}: {status} {reason}"
            )
        return StatusError(self.url, path, status, reason)


def _body(response: BaseHTTPResponse, most: int) -> bytes:
    """Return all of an answer. Raises ValueError where it has more bytes, or takes too long."""
    deadline, parts, size = time.monotonic() + ANSWER_SECONDS, list[bytes](), 0
    try:
        while part := response.read1(_CHUNK):
            size += len(part)
            if size > most:
                raise ValueError(f"its answer is longer than {most} bytes")
            if time.monotonic() > deadline:
                raise ValueError(f"not complete after {ANSWER_SECONDS:g} s")
            parts.append(part)
        response.release_conn()
    finally:
        response.close()  # the connection, unless it was released: what follows is not read
    return b"".join(parts)


def _lines(response: BaseHTTPResponse) -> Iterator[bytes]:
    """The last line counts only where it is whole. Raises ValueError where one is too long."""
    rest = bytearray()
    for chunk in response.stream(_CHUNK):
        *ends, last = chunk.split(b"\n")
        for end in ends:
            rest += end
            if rest:
                yield bytes(rest)
            rest.clear()
        rest += last
        if len(rest) > MAX_LINE:
            raise ValueError(f"a line is longer than {MAX_LINE} bytes")
    if rest.strip():
        raise ValueError("the last line is not complete")


def _cause(error: BaseException) -> str:
    """Return the innermost reason of an error of urllib3, without the connection that it names
    first."""
    reason = getattr(error, "reason", None)
    if not isinstance(reason, BaseException):
        reason = next((part for part in error.args if isinstance(part, BaseException)), None)
    if reason is not None:
        return _cause(reason)
    text = error.strerror or "" if isinstance(error, OSError) else ""
    text = text or str(error)
    return _CONNECTION.sub("", text) or type(error).__name__


# -- kubeconfigs ----------------------------------------------------------------------------------

VARIABLE = "KUBECONFIG"
DEFAULT = "~/.kube/config"
IN_CLUSTER = "the cluster that this runs in"


class _Kubeconfig(Struct, frozen=True):
    """Several files are read as one. contexts: name → what it holds."""

    path: str
    contexts: dict[str, dict[str, Any]]
    current: str

    @property
    def shown(self) -> str:
        return self.path.replace(os.pathsep, ", ")


def connect(kubeconfig: str = "", context: str = "") -> ApiServer:
    """By --kubeconfig, else $KUBECONFIG, else ~/.kube/config, else the cluster that this runs in.
    Raises KubeconfigError, MissingClientError."""
    try:
        import kubernetes.config  # noqa: F401  # whether it is there
    except ImportError:
        raise MissingClientError from None
    paths = _paths(kubeconfig)
    if paths:
        from kubernetes.config.kube_config import KubeConfigMerger

        path = os.pathsep.join(paths)
        try:
            merged = KubeConfigMerger(path).config.value
            contexts = {
                str(entry["name"]): dict(entry.value["context"] or {})
                for entry in merged["contexts"]
            }
            read = _Kubeconfig(path, contexts, str(merged.get("current-context") or ""))
        except Exception as error:  # the library raises whatever a broken file leads it to
            shown = path.replace(os.pathsep, ", ")
            raise KubeconfigError(f"{shown}: not a kubeconfig: {_flattened(error)}") from None
        return _of_context(read, context)
    missing = f"--kubeconfig is not given, ${VARIABLE} names no file, and there is no {DEFAULT}"
    if context:
        raise KubeconfigError(f'no context "{context}": {missing}')
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


def names_cluster() -> bool:
    """Return whether there is a kubeconfig, or this runs in a cluster, so that `connect` may
    work."""
    return bool(_paths("")) or os.path.isfile(_SERVICE_TOKEN)


def _paths(kubeconfig: str) -> list[str]:
    """Return the kubeconfigs that there are. Raises KubeconfigError for a missing one that was
    named."""
    if kubeconfig:
        if not os.path.isfile(os.path.expanduser(kubeconfig)):
            raise KubeconfigError(f"{kubeconfig}: there is no such kubeconfig")
        return [kubeconfig]
    named = os.environ.get(VARIABLE, "") or DEFAULT
    return [path for path in named.split(os.pathsep) if os.path.isfile(os.path.expanduser(path))]


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
    # The library waits for ever for the programs that it starts, and has no option for it.
    from kubernetes.config import exec_provider, kube_config

    bounded = SimpleNamespace(PIPE=subprocess.PIPE, Popen=_BoundedProgram)
    for module in (exec_provider, kube_config):
        vars(module)["subprocess"] = bounded
    with _logged_errors() as errors:
        try:
            # The library would read a token's file that is a pipe or has no end; it looks itself
            # whether certificates and keys are regular files.
            from kubernetes.config.kube_config import KubeConfigMerger

            users = KubeConfigMerger(kubeconfig.path).config["users"]
            user = users.get_with_name(kubeconfig.contexts[name].get("user"), safe=True)
            stated = user.value.get("user") if user is not None else None
            if isinstance(stated, dict) and stated.get("tokenFile") and "token" not in stated:
                read_small_file(os.path.join(os.path.dirname(user.path or ""), stated["tokenFile"]))
            config.load_kube_config(kubeconfig.path, name, configuration)
        except Exception as error:  # as above
            errors.append(_flattened(error))
    if errors:
        raise KubeconfigError(f"{shown}: context {name} cannot be used: {'; '.join(errors)}")
    namespace = str(kubeconfig.contexts[name].get("namespace") or "default")
    return ApiServer(configuration, Identity(f"context {name} of {shown}", namespace))


class _BoundedProgram(subprocess.Popen[str]):
    """A program for credentials, which must end in time."""

    def communicate(self, input: str | None = None, timeout: float | None = None) -> Any:
        try:
            return super().communicate(input, timeout or PROGRAM_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
            message = f"its program for credentials took longer than {PROGRAM_SECONDS:g} s"
            raise TimeoutError(f"{message}, and was ended") from None


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
