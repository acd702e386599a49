"""The exit code for a report of pip-audit: 0 nothing known, 1 advisories, 2 (with --required) it
could not look."""

import json
import sys
from pathlib import Path


def main() -> int:
    report, errors = (Path(path).read_text() for path in sys.argv[1:3])
    if not report:
        return unreachable(errors.strip().splitlines()[-1] if errors.strip() else "no report")
    packages = json.loads(report)["dependencies"]
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    advisories = [
        f"{package['name']} {package['version']}: {advisory['id']}, fixed in "
        f"{', '.join(advisory['fix_versions']) or 'no version yet'}"
        for package in packages
        for advisory in package.get("vulns", ())
    ]
    looked_up = f"{len(packages) - len(skipped)} of {len(packages)} packages looked up"
    print("\n".join((*advisories, f"{looked_up}, {len(advisories)} known advisories")))
    if advisories:
        return 1
    if skipped:
        return unreachable(f"not looked up: {', '.join(skipped[:5])}, …")
    return 0


def unreachable(reason: str) -> int:
    print(f"the advisory service could not be asked about all packages: {reason}")
    return 2 if "--required" in sys.argv[3:] else 0


if __name__ == "__main__":
    sys.exit(main())
