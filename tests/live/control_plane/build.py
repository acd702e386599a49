"""Builds etcd, Kubernetes's own binaries and KWOK from the Go module proxy, into a cache.

    python -m tests.live.control_plane.build [MINOR...]

modules/ pins their versions and the hashes of all that they are built from. The cache is
$KSCHED_LIVE_CACHE, else ksched-live in $XDG_CACHE_HOME or ~/.cache. It has a folder per module,
named after the hash of its pins, so that what is pinned anew is built anew.

v1.38.0-beta.0 requires k8s.io/apiextensions-api, which upstream has not published. It is made of
k8s.io/apiextensions-apiserver, which had its types and clients until 1.37.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "modules"
MINORS = {
    "1.34": "v1.34.1",
    "1.35": "v1.35.4",
    "1.36": "v1.36.3",
    "1.37": "v1.37.2",
    "1.38": "v1.38.0-beta.0",
}
API, API_SERVER = "k8s.io/apiextensions-api", "k8s.io/apiextensions-apiserver"
KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")


@dataclass(frozen=True, slots=True)
class Module:
    """A folder of modules/. packages: binary → the package that it is built from"""

    name: str
    packages: dict[str, str]
    flags: str = "-s -w"


ETCD = Module("etcd", {"etcd": "go.etcd.io/etcd/server/v3"})
KWOK = Module("kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"})


class NoGoError(Exception):
    """There is no Go toolchain to build with, and nothing in the cache."""


def kubernetes(minor: str) -> Module:
    version, (major, number) = MINORS[minor], minor.split(".")
    stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": number}
    flags = " ".join(
        f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamps.items()
    )
    packages = {name: f"k8s.io/kubernetes/cmd/{name}" for name in KUBERNETES}
    return Module(f"kubernetes-{minor}", packages, f"-s -w {flags}")


def cache() -> Path:
    own = os.environ.get("KSCHED_LIVE_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ksched-live"


def folder(module: Module) -> Path:
    """Where its binaries are, or will be."""
    pins = b"".join((MODULES / module.name / file).read_bytes() for file in ("go.mod", "go.sum"))
    return cache() / f"{module.name}-{hashlib.sha256(pins).hexdigest()[:12]}"


def is_built(module: Module) -> bool:
    return all((folder(module) / name).exists() for name in module.packages)


def build(module: Module) -> Path:
    """The folder of its binaries; written aside, then renamed. Raises NoGoError."""
    target = folder(module)
    if is_built(module):
        return target
    go = shutil.which("go")
    if go is None:
        raise NoGoError(f"no Go toolchain to build {', '.join(module.packages)} with")
    target.parent.mkdir(parents=True, exist_ok=True)
    print(f"building {', '.join(module.packages)}", file=sys.stderr, flush=True)
    # GOTOOLCHAIN: Go fetches the release that go.mod names, where that is newer than itself.
    environment = {**os.environ, "GOFLAGS": "", "GOWORK": "off", "GOTOOLCHAIN": "auto"}
    with tempfile.TemporaryDirectory(dir=target.parent) as aside:
        source = Path(shutil.copytree(MODULES / module.name, f"{aside}/source"))
        if f"{API} => ./" in (source / "go.mod").read_text():
            write_api(source / API.rpartition("/")[2], go)
        for name, package in module.packages.items():
            command = [go, "build", "-mod=readonly", "-trimpath", "-buildvcs=false"]
            command += ["-ldflags", module.flags, "-o", f"{aside}/{name}", package]
            subprocess.run(command, cwd=source, check=True, env=environment)
        target.mkdir(exist_ok=True)
        for name in module.packages:
            (Path(aside) / name).replace(target / name)
    return target


def write_api(folder: Path, go: str) -> None:
    """Write k8s.io/apiextensions-api: the types and clients of the release of
    k8s.io/apiextensions-apiserver that 1.37 pins, with their new import paths. Conversions to the
    server's own types stay there."""
    download = [go, "mod", "download", "-json", API_SERVER]
    pins = MODULES / kubernetes("1.37").name
    printed = subprocess.run(download, cwd=pins, check=True, capture_output=True, text=True).stdout
    published = Path(json.loads(printed)["Dir"])
    versions = [f"pkg/apis/apiextensions/{version}" for version in ("v1", "v1beta1")]
    for part in (*versions, "pkg/client"):
        for file in (published / part).rglob("*.go"):
            is_conversion = file.name.removeprefix("zz_generated.") == "conversion.go"
            if is_conversion or file.name.endswith("_test.go"):
                continue
            text = file.read_text().replace(f"{API_SERVER}/pkg/", f"{API}/pkg/")
            copy = folder / file.relative_to(published)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text.replace("structured-merge-diff/v6", "structured-merge-diff/v7"))
    for version in versions:  # declared beside the conversions, and used by the types
        package = version.rpartition("/")[2]
        null = f'package {package}\n\nvar nullLiteral = []byte("null")\n'
        (folder / version / "null.go").write_text(null)
    (folder / "go.mod").write_text(f"module {API}\n\ngo 1.27.0\n")


def binaries(minor: str, *, kwok: bool = True) -> dict[str, Path]:
    """By name, built where they are not cached. Raises NoGoError."""
    modules = (ETCD, kubernetes(minor), *((KWOK,) if kwok else ()))
    return {name: build(module) / name for module in modules for name in module.packages}


if __name__ == "__main__":
    for minor in sys.argv[1:] or MINORS:
        for path in binaries(minor).values():
            print(path)
