"""What a release hands to krew is what krew takes, and the launcher in it finds its wheel.

The rules of the manifest are those of krew's internal/index/validation (ValidatePlugin).
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SEMVER = re.compile(r"v\d+\.\d+\.\d+(-[\w.-]+)?")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    wheel = folder / "ksched-0.0.1-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    command = [sys.executable, str(ROOT / ".ci" / "krew"), *arguments, "--wheel", str(wheel)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    answer = run(tmp_path, "v0.0.1", "example/ksched", str(tmp_path))
    assert answer.returncode == 0, answer.stderr
    return tmp_path


def problems(manifest: dict[str, Any], name: str) -> list[str]:
    """What krew would refuse."""
    spec = manifest["spec"]
    short = spec.get("shortDescription", "")
    rules = {
        "apiVersion": manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2",
        "kind": manifest["kind"] == "Plugin",
        "name": manifest["metadata"]["name"] == name and bool(re.fullmatch(r"[\w-]+", name)),
        "shortDescription": bool(short) and "\n" not in short and len(short) <= 50,
        "version": bool(SEMVER.fullmatch(spec.get("version", ""))),
        "platforms": bool(spec.get("platforms")),
    }
    for platform in spec.get("platforms", ()):
        selector = platform.get("selector") or {}
        keys = {*selector.get("matchLabels", ())}
        keys |= {item["key"] for item in selector.get("matchExpressions", ())}
        rules["selector"] = bool(keys) and keys <= {"os", "arch"}
        rules["uri"] = bool(platform.get("uri"))
        rules["sha256"] = bool(re.fullmatch("[a-f0-9]{64}", platform.get("sha256", "")))
        rules["bin"] = bool(platform.get("bin"))
    return [rule for rule, is_met in rules.items() if not is_met]


def test_krew_takes_the_manifest(release: Path) -> None:
    text = (release / "ksched.yaml").read_text()
    manifest = yaml.safe_load(text)
    assert problems(manifest, "ksched") == []
    assert "{{" not in text
    (platform,) = manifest["spec"]["platforms"]
    archive = release / Path(platform["uri"]).name
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert platform["uri"].startswith("https://github.com/example/ksched/releases/download/v0.0.1/")


def test_a_manifest_that_lacks_something_would_be_refused(release: Path) -> None:
    manifest = yaml.safe_load((release / "ksched.yaml").read_text())
    manifest["spec"]["version"] = "0.0.1"
    del manifest["spec"]["platforms"][0]["sha256"]
    assert problems(manifest, "ksched") == ["version", "sha256"]


def test_the_archive_of_a_wheel_is_always_the_same(release: Path, tmp_path: Path) -> None:
    run(tmp_path, "v0.0.1", "example/ksched", str(tmp_path / "again"))
    names = ("kubectl-ksched.tar.gz", "ksched.yaml")
    for name in names:
        assert (release / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize("arguments", [("0.0.1", "example/ksched"), ("v0.0.1", "ksched")])
def test_what_is_no_release_is_refused(arguments: tuple[str, str], tmp_path: Path) -> None:
    answer = run(tmp_path, *arguments, str(tmp_path / "none"))
    assert (answer.returncode, (tmp_path / "none").exists()) == (2, False)


PYTHON = """\
#!/bin/sh
# A Python that makes environments whose pip notes what it installs, and whose ksched greets.
case "$*" in
  *version_info*) exit "${TOO_OLD:-0}" ;;
  "-m venv --clear "*)
    [ -n "${PYTHONSAFEPATH:-}" ] || exit 1
    mkdir -p "$4/bin"
    cp "$0" "$4/bin/python"
    printf '#!/bin/sh\\necho ksched "$@"\\n' > "$4/bin/kubectl-ksched"
    chmod +x "$4/bin/kubectl-ksched" ;;
  "-m pip install "*) echo "${PYTHONSAFEPATH:+safe} $*" >> "$INSTALLED" ;;
esac
"""


def launch(release: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """As krew installs it: unpacked, and called by a link."""
    store, link = release / "store", release / "bin" / "kubectl-ksched"
    if not link.exists():
        with tarfile.open(release / "kubectl-ksched.tar.gz") as archive:
            archive.extractall(store, filter="data")
        link.parent.mkdir()
        link.symlink_to("../store/kubectl-ksched")
    python = release / "python3"
    python.write_text(PYTHON)
    python.chmod(0o755)
    own = {"KSCHED_PYTHON": str(python), "INSTALLED": str(release / "installed")}
    return subprocess.run(
        [link, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(release / "home"), **own, **environment},
    )


def test_the_first_call_installs_the_wheel_and_the_next_ones_do_not(release: Path) -> None:
    first, second = launch(release, "explain", "p"), launch(release, "--version")
    assert (first.returncode, first.stdout) == (0, "ksched explain p\n")
    assert first.stderr.startswith("installing ksched-0.0.1-py3-none-any into ")
    assert (second.stdout, second.stderr) == ("ksched --version\n", "")
    packages, wheel = (release / "installed").read_text().splitlines()
    assert " --require-hashes --only-binary :all: -r /" in packages
    assert packages.endswith("/store/live-constraints.txt")
    assert " --no-deps --no-index /" in wheel
    assert wheel.endswith("/store/ksched-0.0.1-py3-none-any.whl")


def test_nothing_is_imported_from_the_current_folder(release: Path) -> None:
    """A venv.py or pip.py there is somebody else's."""
    launch(release)
    calls = (release / "installed").read_text().splitlines()
    assert all(line.startswith("safe ") for line in calls), calls


def test_an_old_python_is_one_message_and_installs_nothing(release: Path) -> None:
    answer = launch(release, "explain", "p", TOO_OLD="1")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("kubectl ksched needs Python 3.11 or newer")
    assert not (release / "home").exists()
