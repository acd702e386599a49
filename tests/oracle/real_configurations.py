#!/usr/bin/env python3
"""Configurations as they are in public repositories, judged by kube-scheduler and by ksched.

    real_configurations.py FOLDER [--kubernetes-version MINOR] [--list FILE]

Every configuration below FOLDER, those in ConfigMaps and values included, gets a verdict of both,
and where both take it, the plugins, weights and args that it means; what old versions mean in
v1 (ksched config migrate) is judged by both too. Exit status 0 when nothing differs, 1 otherwise, 2
when there is no oracle.

`--list FILE` names repositories, commits and paths, a Markdown table as in
real_configurations.md: what FOLDER lacks of it is fetched from GitHub first.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import subject
from cases import OLDEST, differs

from ksched_cli.config.migration.migrate import migrate
from ksched_cli.config.sources import find_configurations
from ksched_cli.errors import KschedError
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from oracle import Oracle, UnavailableError

_ROW = re.compile(r"^\| ([\w.-]+/[\w.-]+) \| ([0-9a-f]{40}) \| `([^`]+)` \|", re.M)


def fetch(table: Path, folder: Path) -> None:
    """The files of a list that the folder lacks."""
    for repository, commit, path in _ROW.findall(table.read_text()):
        file = folder / repository.replace("/", "+") / path
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            url = f"https://raw.githubusercontent.com/{repository}/{commit}/{quote(path)}"
            with urlopen(url, timeout=30) as answer:
                file.write_bytes(answer.read())


def texts(folder: Path, minor: str) -> Iterator[tuple[str, str]]:
    """Name and text of every configuration, and of what each means in v1."""
    registry = registry_of(release_of(minor))
    for source in find_configurations([str(folder)]).texts:
        name = source.name.removeprefix(f"{folder}/")
        text = source.raw.decode("utf-8", "replace")
        yield name, text
        try:
            migrated = migrate(text, name, registry).text
        except KschedError:
            continue  # no version that is migrated; the text itself is judged all the same
        if migrated != text:
            yield f"{name}, migrated", migrated


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kubernetes-version", default=OLDEST, dest="minor")
    parser.add_argument("--list", type=Path, default=None)
    options = parser.parse_args()
    if options.list is not None:
        fetch(options.list, options.folder)
    verdicts: Counter[str] = Counter()
    differences = 0
    try:
        with Oracle(options.minor) as oracle:
            for name, text in texts(options.folder, options.minor):
                answer = oracle.config(text)
                expected = answer.get("result", answer)
                verdicts[expected.get("stage") or "accepted"] += 1
                difference = differs(expected, subject.describe(text, options.minor), True)
                if difference:
                    differences += 1
                    print(f"{name}:\n{difference}\n")
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 2
    listed = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    print(f"{sum(verdicts.values())} configurations ({listed}), {differences} differ")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
