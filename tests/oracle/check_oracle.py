#!/usr/bin/env python3
"""Compares the oracle with the decisions that lie in a folder of cases.

    check_oracle.py [--kubernetes-version MINOR] [--cases DIR] [-v] [FAMILY ...]

The folder has `cases/FAMILY/NAME/` and `configs/NAME/`, each with its `expected.json`
(`expected-MINOR.json` of later minors, where there is one), as tests/conformance has.
Exit status 0 when all agree, 1 otherwise.
"""

import argparse
import sys
from pathlib import Path

from cases import OLDEST, Case, differs, expected_file, families
from releases import MODULES

from oracle import Oracle, UnavailableError, extender_server

HERE = Path(__file__).parent


TRIES = 30  # runs in which upstream may come to the decision that lies there


def disagrees(oracle: Oracle, case: Case, minor: str) -> str | None:
    answer = oracle.ask(case)
    return answer.get("error") or differs(case.expected(minor), answer["result"], case.is_config)


def check(oracle: Oracle, case: Case, minor: str) -> tuple[str | None, bool]:
    """The first disagreement that stays, and whether upstream decides now so, now otherwise."""
    difference = disagrees(oracle, case, minor)
    if difference is None:
        return None, False
    agreed = any(disagrees(oracle, case, minor) is None for _ in range(TRIES))
    return (None, True) if agreed else (difference, False)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, default=HERE.parent / "conformance")
    parser.add_argument("--kubernetes-version", choices=list(MODULES), default=OLDEST)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("families", nargs="*")
    options = parser.parse_args()
    right = total = 0
    minor = options.kubernetes_version
    with Oracle(minor) as oracle, extender_server(options.cases):
        for family, all_cases in families(options.cases, options.families).items():
            cases = [case for case in all_cases if expected_file(case.folder, minor).exists()]
            checks = [(case, *check(oracle, case, minor)) for case in cases]
            agree = sum(wrong is None for _, wrong, _ in checks)
            right, total = right + agree, total + len(cases)
            print(f"{family:20s} {agree:4d} of {len(cases):4d}", flush=True)
            for case, wrong, unsteady in checks:
                if unsteady:
                    print(f"    {case.folder.name}: upstream decides now so, now otherwise")
                elif wrong and options.verbose:
                    print(f"    {case.folder.name}: {wrong}")
    print(f"{'all':20s} {right:4d} of {total:4d}")
    return 0 if right == total else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UnavailableError as why:
        print(f"no oracle: {why}", file=sys.stderr)
        sys.exit(2)
