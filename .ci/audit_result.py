"""The exit code for a report of pip-audit: 0 no advisory, or only judged ones, 1 others, 2 (with
--required) it could not look.

    audit_result.py REPORT ERRORS [--required] [--judged FILE] [--vex FILE]

--judged, default .ci/advisories.toml, has what is known about advisories. --vex writes an OpenVEX
document of those about packages that a release installs; without any it writes none, because
OpenVEX has no empty document.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
JUDGED = Path(__file__).with_name("advisories.toml")
RELEASED = Path(__file__).with_name("runtime-constraints.txt")
Judgements = Mapping[str, Mapping[str, str]]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=Path)
    parser.add_argument("errors", type=Path)
    parser.add_argument("--required", action="store_true")
    parser.add_argument("--judged", type=Path, default=JUDGED)
    parser.add_argument("--vex", type=Path)
    options = parser.parse_args()
    report, errors = options.report.read_text(), options.errors.read_text()
    if not report:
        last = errors.strip().splitlines()[-1] if errors.strip() else "no report"
        return unreachable(last, required=options.required)
    packages = json.loads(report)["dependencies"]
    judged = tomllib.loads(options.judged.read_text())
    advisories = [
        (package, advisory) for package in packages for advisory in package.get("vulns", ())
    ]
    for package, advisory in advisories:
        fixed = ", ".join(advisory["fix_versions"]) or "no version yet"
        status = judged.get(advisory["id"], {"status": "not judged"})["status"]
        line = f"{package['name']} {package['version']}: {advisory['id']}, fixed in {fixed}"
        print(f"{line}; {status}")
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    looked_up = f"{len(packages) - len(skipped)} of {len(packages)} packages looked up"
    print(f"{looked_up}, {len(advisories)} known advisories")
    if options.vex and (document := vex(advisories, judged)):
        options.vex.write_text(json.dumps(document, indent=2) + "\n")
    if any(advisory["id"] not in judged for _, advisory in advisories):
        return 1
    if skipped:
        names = ", ".join(skipped[:5])
        return unreachable(f"not looked up: {names}, …", required=options.required)
    return 0


def vex(advisories: list[tuple[dict, dict]], judged: Judgements) -> dict[str, object] | None:
    """The OpenVEX document (v0.2.0), or None where there is nothing to say."""
    released = set(re.findall(r"^([\w.-]+)==", RELEASED.read_text(), re.M))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    source = project["urls"]["Source"]
    init = (ROOT / "ksched_cli" / "__init__.py").read_text()
    version = re.search(r'^__version__ = "(.+)"$', init, re.M)[1]
    statements = [
        {
            "vulnerability": {"name": advisory["id"], "aliases": advisory.get("aliases", [])},
            "products": [
                {
                    "@id": f"pkg:pypi/ksched@{version}",
                    "subcomponents": [{"@id": f"pkg:pypi/{package['name']}@{package['version']}"}],
                }
            ],
            **judged[advisory["id"]],
        }
        for package, advisory in advisories
        if package["name"] in released and advisory["id"] in judged
    ]
    if not statements:
        return None
    now = int(os.environ.get("SOURCE_DATE_EPOCH", datetime.now(UTC).timestamp()))
    return {
        "@context": "https://openvex.dev/ns/v0.2.0",
        "@id": f"{source}/releases/download/v{version}/ksched.openvex.json",
        "author": f"the maintainers of {source}",
        "timestamp": datetime.fromtimestamp(now, UTC).isoformat(),
        "version": 1,
        "tooling": ".ci/audit (pip-audit)",
        "statements": statements,
    }


def unreachable(reason: str, *, required: bool) -> int:
    print(f"the advisory service could not be asked about all packages: {reason}")
    return 2 if required else 0


if __name__ == "__main__":
    sys.exit(main())
