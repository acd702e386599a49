"""What a release is made of: one place for the address and for the version, pinned actions, and
recipes that name the files that are there."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from ksched_cli import __version__

ROOT = Path(__file__).parents[1]
ACTIONS = [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), ROOT / "action.yml"]


def run(script: str, *arguments: str, root: Path = ROOT) -> list[str]:
    command = [sys.executable, str(root / ".ci" / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that say where ksched is, with the script that writes it."""
    _, *files = run("address")
    for name in (".ci/address", *files):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_no_other_file_says_where_ksched_is() -> None:
    address, *files = run("address")
    command = ["git", "-C", str(ROOT), "grep", "-lF", address]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    assert set(lines) - {"tests/test_release.py"} == set(files)


def test_the_address_is_written_everywhere_and_can_be_written_again(checkout: Path) -> None:
    for address in ("acme/scheduling", "example/ksched"):
        run("address", address, root=checkout)
        stated, *files = run("address", root=checkout)
        assert stated == address
        for name in files:
            text = (checkout / name).read_text(encoding="utf-8")
            assert address in text
            assert not re.search(r"\b(OWNER/ksched|acme/scheduling)\b", text.replace(address, ""))
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Issues"] == "https://github.com/example/ksched/issues"


def test_the_version_is_the_package_s() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dynamic"] == ["version"]
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_digest_with_their_release(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action)


def test_workflows_ask_for_no_more_rights_than_they_need() -> None:
    for path in ACTIONS[:-1]:
        rights = yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"]
        assert rights in ({"contents": "read"}, "read-all"), path.name


def test_recipes_name_the_archive_with_its_sum(tmp_path: Path) -> None:
    archive = tmp_path / f"ksched-{__version__}.tar.gz"
    archive.write_bytes(b"an archive")
    (tmp_path / "requirements.txt").write_bytes(b"numpy==2.0")
    run("recipes", f"v{__version__}", "acme/scheduling", str(tmp_path))
    digest = hashlib.sha256(b"an archive").hexdigest()
    address = f"https://github.com/acme/scheduling/releases/download/v{__version__}/{archive.name}"
    recipe = yaml.safe_load((tmp_path / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["source"] == {"url": address, "sha256": digest}
    assert "numpy >=2.0" in recipe["requirements"]["run"]
    assert f"ksched = {'ksched_cli.__main__:main'}" in recipe["build"]["python"]["entry_points"]
    formula = (tmp_path / "ksched.rb").read_text(encoding="utf-8")
    assert f'url "{address}"\n  sha256 "{digest}"' in formula
    assert hashlib.sha256(b"numpy==2.0").hexdigest() in formula


def test_the_base_of_the_image_is_pinned_by_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.M)
    assert len(bases) == 2
    assert len({*bases}) == 1
    assert re.fullmatch(r"python:3\.13-slim@sha256:[0-9a-f]{64}", bases[0])


@pytest.mark.parametrize("path", ACTIONS[:-1], ids=lambda path: path.stem)
def test_no_checkout_keeps_the_token_of_its_job(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    steps = [step for job in jobs for step in job["steps"] if "checkout@" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in steps)


@pytest.mark.parametrize(
    ("tag", "is_latest"),
    [("v1.2.3", True), ("v1.2.3-rc.1", False), ("v1.2.3rc1", False), ("v1.2.3.dev1", False)],
)
def test_latest_is_no_pre_release(tag: str, is_latest: bool, tmp_path: Path) -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    steps = yaml.safe_load(text)["jobs"]["image"]["steps"]
    (script,) = (step["run"] for step in steps if step.get("id") == "tags")
    output = tmp_path / "output"
    environment = {"IMAGE": "ghcr.io/o/n", "GITHUB_REF_NAME": tag, "GITHUB_OUTPUT": str(output)}
    subprocess.run(["bash", "-euo", "pipefail", "-c", script], env=environment, check=True)
    named = output.read_text().splitlines()[1:-1]
    assert named == [f"ghcr.io/o/n:{tag}", *(["ghcr.io/o/n:latest"] if is_latest else [])]


def test_the_image_has_the_labels_without_which_artifact_hub_does_not_list_it() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    steps = yaml.safe_load(text)["jobs"]["image"]["steps"]
    (labels,) = (step["with"]["labels"] for step in steps if "labels" in step.get("with", {}))
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8") + labels
    for label in (
        "io.artifacthub.package.readme-url",
        "org.opencontainers.image.created",
        "org.opencontainers.image.description",
    ):
        assert f"{label}=" in text


def test_security_insights_has_no_key_without_a_value() -> None:
    """A comma in an unquoted text of YAML would make one."""
    text = (ROOT / ".github" / "security-insights.yml").read_text(encoding="utf-8")
    assert "null" not in json.dumps(yaml.safe_load(text))


def test_the_action_installs_locked_packages_only() -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    (script,) = (
        step["run"] for step in steps if step.get("shell") == "bash" and "pip" in step["run"]
    )
    lines = re.findall(r"pip install .*", script)
    assert len(lines) == 2
    for line in lines:
        assert "--require-hashes --only-binary :all:" in line or "--no-deps --no-index" in line


@pytest.mark.parametrize("name", ["live", "build", "runtime"])
def test_lists_of_packages_have_what_pyproject_asks_for_with_hashes(name: str) -> None:
    text = (ROOT / ".ci" / f"{name}-constraints.txt").read_text(encoding="utf-8")
    packages = dict(re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==(\S+)", text, re.M))
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    required = {
        "live": [*project["dependencies"], *project["optional-dependencies"]["live"]],
        "build": pyproject["build-system"]["requires"],
        "runtime": project["dependencies"],
    }[name]
    for requirement in required:
        assert re.split(r"[^\w.-]", requirement)[0] in packages
    assert text.count("--hash=sha256:") >= len(packages)


def test_the_mcp_registry_gets_this_version() -> None:
    text = (ROOT / ".github" / "server.json").read_text(encoding="utf-8")
    server = json.loads(text)
    (package,) = server["packages"]
    assert server["version"] == package["version"] == __version__
    assert text.count(__version__) == 3  # and in the command


@pytest.mark.parametrize(
    ("judged", "code", "statuses"),
    [
        ("", 1, None),
        ('["GHSA-1"]\nstatus = "not_affected"\nimpact_statement = "no"', 0, ["not_affected"]),
        ('["GHSA-1"]\nstatus = "under_investigation"', 0, ["under_investigation"]),
    ],
    ids=["not judged", "not affected", "under investigation"],
)
def test_an_advisory_is_judged_before_a_release_that_publishes_the_judgement(
    judged: str, code: int, statuses: list[str] | None, tmp_path: Path
) -> None:
    advisory = {"id": "GHSA-1", "fix_versions": ["9"], "aliases": ["CVE-2026-1"]}
    packages = [
        {"name": "numpy", "version": "2.0", "vulns": [advisory]},
        {"name": "pytest", "version": "8.0", "vulns": [{**advisory, "id": "GHSA-2"}]},
    ]
    (tmp_path / "report").write_text(json.dumps({"dependencies": packages}))
    (tmp_path / "errors").write_text("")
    (tmp_path / "judged").write_text(f'{judged}\n["GHSA-2"]\nstatus = "under_investigation"')
    files = [str(tmp_path / name) for name in ("report", "errors", "judged", "vex")]
    command = [
        sys.executable, ".ci/audit_result.py", *files[:2], "--judged", files[2], "--vex", files[3],
    ]  # fmt: skip
    assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == code
    document = json.loads((tmp_path / "vex").read_text()) if statuses else {"statements": []}
    statements = document["statements"]
    assert [statement["status"] for statement in statements] == (statuses or [])
    for statement in statements:
        assert statement["vulnerability"] == {"name": "GHSA-1", "aliases": ["CVE-2026-1"]}
        (product,) = statement["products"]
        assert product["@id"] == f"pkg:pypi/ksched@{__version__}"
        assert product["subcomponents"] == [{"@id": "pkg:pypi/numpy@2.0"}]
    assert (tmp_path / "vex").exists() == bool(statuses)
