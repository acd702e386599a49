"""The sources of configurations: files, folders, globs, and what FILE#NAME names in a file.

Every command reads its configurations here: `validate` all that are in its files, the others the
one that a reference names.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess  # nosec B404  # runs git
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from ksched_cli.config.allowed_plugins import AllowedPlugin
from ksched_cli.config.checks.findings import Finding, Severity, in_order
from ksched_cli.config.checks.ignores import LATER_RULE, ignores
from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.embedded import ConfigurationText, configurations_in
from ksched_cli.config.review import Review, review_bytes
from ksched_cli.config.types import KIND
from ksched_cli.errors import InputError
from ksched_cli.kube.documents import read_file, yaml_failure
from ksched_cli.kube.file_paths import expand_paths, split_reference
from ksched_cli.kube.near_names import did_you_mean
from ksched_cli.kube.versions import Release, refused_gates
from ksched_cli.kube.yaml_errors import YamlError

# Also in JSON, and in JSON within a quoted string.
_ANYWHERE = re.compile(rf"""kind[\\"']*\s*:\s*[\\"']*{KIND}\b""".encode())
# How many configurations an error lists.
_MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class ReviewedText:
    """source: what was reviewed; review: of it, with positions in the file; fail_on: the least
    severe finding for which it fails."""

    source: ConfigurationText
    review: Review
    fail_on: Severity = Severity.ERROR

    @property
    def fails(self) -> bool:
        return self.review.fails(self.fail_on)


@dataclass(frozen=True, slots=True)
class Sources:
    """texts: the configurations; passed_over: files without one; templates: files that mention one
    and are no YAML before a chart is rendered."""

    texts: tuple[ConfigurationText, ...]
    passed_over: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()


def review_text(
    source: ConfigurationText,
    registry: KnownPlugins,
    allowed: Sequence[AllowedPlugin] = (),
    later: Sequence[KnownPlugins] = (),
) -> ReviewedText:
    """The review, with positions in the file.

    later: the plugins of the later minors, whose refusals are warned of
    Raises UsageError for a comment that allows no plugin.
    """
    review = review_bytes(source.raw, source.path, registry, allowed)
    review = with_later_refusals(review, source.raw, source.path, later, allowed)
    return ReviewedText(
        source,
        replace(
            review,
            findings=tuple(map(source.place.of, review.findings)),
            ignored=tuple(map(source.place.of, review.ignored)),
        ),
    )


def find_configurations(references: Iterable[str], *, skip_others: bool = False) -> Sources:
    """The configurations of files, folders and globs, each file once, and those that FILE#NAME
    names.

    skip_others: a file that is named may be without a configuration, as those of a folder are
    Raises InputError for what cannot be read, and for a NAME that is not there.
    """
    texts: list[ConfigurationText] = []
    passed_over: list[str] = []
    templates: list[str] = []
    for path, is_named in expand_paths(references):
        is_reference = split_reference(path)[1] is not None
        if is_reference or (is_named and not skip_others):
            texts += _texts_at(path)
            continue
        raw, name = read_file(path)
        inside = _embedded(raw, name) if _ANYWHERE.search(raw) else []
        texts += inside or []
        if inside is None and b"{{" in raw:
            templates.append(name)
        elif inside is None:
            texts.append(ConfigurationText(name, raw))
        elif not inside:
            passed_over.append(name)
    return Sources(tuple(texts), tuple(passed_over), tuple(templates))


def read_versioned_text(reference: str) -> ConfigurationText:
    """As `read_configuration_text`, also of REV:PATH and REV:PATH#NAME, which git has. Only for
    references of the command line: no file may have git run."""
    if not names_git_object(reference):
        return read_configuration_text(reference)
    path, _, name = reference.partition("#")
    raw = read_git_object(path)
    return _only(reference, _texts_of(raw, path, path, name or None))


def read_configuration_text(reference: str) -> ConfigurationText:
    """The configuration at FILE, `-` or FILE#NAME: the only one in the file, else the one that goes
    by the NAME. A file that begins with a configuration gives its first document, as in
    kube-scheduler.

    A file without a configuration is taken as one, for checks say best what it is instead.
    Raises InputError for what cannot be read, and where NAME must choose and does not.
    """
    return _only(reference, _texts_at(reference))


def configuration_text_of(raw: bytes, name: str) -> ConfigurationText:
    """The configuration in a text that is in no file. Raises InputError as
    `read_configuration_text`."""
    return _only(name, _texts_of(raw, name, name, None))


def _only(reference: str, texts: Sequence[ConfigurationText]) -> ConfigurationText:
    if len(texts) == 1:
        return texts[0]
    problem = f"this file has {len(texts)} configurations"
    raise _unchosen(reference, texts, _names_of(texts), problem)


def _texts_at(reference: str) -> list[ConfigurationText]:
    """The configurations of a file, of which there is one at least, or the one that is named."""
    file, name = split_reference(reference)
    raw, source = read_file(file)
    return _texts_of(raw, source, file, name)


def _texts_of(raw: bytes, source: str, file: str, name: str | None) -> list[ConfigurationText]:
    """source: what the file is called in messages; file: as a reference names it"""
    if name is None:
        return _embedded(raw, source) or [ConfigurationText(source, raw)]
    try:
        texts = configurations_in(raw, source)
    except YamlError as error:
        raise yaml_failure(error, source) from None
    names = _names_of(texts)
    chosen = [text for text, own in zip(texts, names, strict=True) if name in own]
    if len(chosen) == 1:
        return chosen
    if not texts:
        raise InputError(source, f'this file has no configuration, so none named "{name}"')
    if chosen:
        raise _unchosen(file, texts, names, f'"{name}" is the name of {len(chosen)} of these')
    hint = did_you_mean(name, (item for own in names for item in own))
    problem = f'this file has no configuration named "{name}"{hint and f"; {hint}"}'
    raise _unchosen(file, texts, names, problem)


def _names_of(texts: Sequence[ConfigurationText]) -> list[tuple[str, ...]]:
    """All names of each: its keys and objects, its first profile's schedulerName, its number."""
    return [
        tuple(filter(None, (*text.names, _scheduler_name(text), str(number))))
        for number, text in enumerate(texts, start=1)
    ]


def _scheduler_name(text: ConfigurationText) -> str:
    """The first profile's; "" where it has none, or cannot be read."""
    try:
        name = text.data()["profiles"][0]["schedulerName"]
    except (InputError, LookupError, TypeError):
        return ""
    return name if isinstance(name, str) else ""


def _unchosen(
    file: str,
    texts: Sequence[ConfigurationText],
    names: Sequence[Sequence[str]],
    problem: str,
) -> InputError:
    """An error that lists the configurations, each as it can be chosen: by the first of its names
    that no other has."""
    counts = Counter(name for own in names for name in set(own))
    references = [
        _shell_word(
            f"{file}#{next((n for n in own if counts[n] == 1 and n.isprintable()), own[-1])}"
        )
        for own in names
    ]
    width = max(map(len, references))
    lines = [
        f"  {reference:{width}}  {text.object or 'the first document'}"
        for reference, text in zip(references, texts, strict=True)
    ]
    more = [f"  and {len(lines) - _MAX_LISTED} more"] if len(lines) > _MAX_LISTED else []
    hint = "\n  ".join(["choose one of these:", *lines[:_MAX_LISTED], *more])
    return InputError(texts[0].path, problem, hint=hint)


def _shell_word(reference: str) -> str:
    """Quoted where a shell would read it otherwise; "#" within a word is nothing special to it."""
    plain = reference.replace("#", "")
    return reference if shlex.quote(plain) == plain else shlex.quote(reference)


def _embedded(raw: bytes, name: str) -> list[ConfigurationText] | None:
    """The configurations that are read of a file without being named: of one that begins with a
    configuration no other, as kube-scheduler reads the first document only. None where the file is
    unreadable."""
    try:
        texts = configurations_in(raw, name)
    except (InputError, YamlError, RecursionError):
        return None
    return [text for text in texts if not text.object] or texts


# No option, no path from the root, and no drive.
_REFERENCE = re.compile(r"[\w@^~{}./+-]+:[^\0\n]+")


def names_git_object(reference: str) -> bool:
    """Whether it is REV:PATH, and neither a file nor a name in one."""
    return (
        not os.path.exists(split_reference(reference)[0])
        and not reference.startswith("-")
        and _REFERENCE.fullmatch(reference) is not None
    )


def read_git_object(reference: str) -> bytes:
    """The content of REV:PATH in the repository of the current folder. Raises InputError."""
    git = shutil.which("git")
    if git is None:
        raise InputError(reference, "there is no such file, and git is not installed")
    # Plumbing: no pager, hook, filter or alias is run, and nothing is fetched.
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    answer = subprocess.run(  # nosec B603  # without a shell, and never an option
        [git, "cat-file", "blob", reference], env=environment, capture_output=True, check=False
    )
    if answer.returncode:
        reason = answer.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        hint = "REV:PATH has the path from the repository's root, or ./PATH from here."
        raise InputError(reference, f"there is no such file, and git says: {reason}", hint=hint)
    return answer.stdout


def refusals_of_gates(feature_gates: str, releases: Iterable[Release]) -> tuple[Finding, ...]:
    """A warning where a later release refuses a value of --feature-gates: the first that does."""
    for release in releases:
        reason = refused_gates(release, feature_gates)
        if reason:
            message = f"Kubernetes {release.minor} refuses this: {reason}"
            return (Finding(Severity.WARNING, "", None, None, message, "", LATER_RULE),)
    return ()


def with_later_refusals(
    review: Review,
    raw: bytes,
    source_name: str,
    later: Iterable[KnownPlugins],
    allowed: Sequence[AllowedPlugin] = (),
) -> Review:
    """The review with a warning for each error that only a later minor finds in the same file.

    later: the plugins of the later minors, oldest first; the first that refuses is named
    """
    errors = {(f.rule, f.path) for f in review.findings if f.refused}
    warnings: list[Finding] = []
    for registry in later:
        for finding in review_bytes(raw, source_name, registry, allowed).findings:
            if finding.refused and (finding.rule, finding.path) not in errors:
                errors.add((finding.rule, finding.path))
                message = f"Kubernetes {registry.release.minor} refuses this: {finding.message}"
                warning = structs.replace(finding, severity=Severity.WARNING, refused=False)
                warnings.append(structs.replace(warning, rule=LATER_RULE, message=message))
    if not warnings:
        return review
    text = raw.decode("utf-8", "replace")
    lines = {item.line for item in ignores(text) if item.rule == LATER_RULE}
    ignored = [finding for finding in warnings if finding.line in lines]
    remaining = [finding for finding in warnings if finding.line not in lines]
    return replace(
        review,
        findings=in_order((*review.findings, *remaining)),
        ignored=(*review.ignored, *ignored),
    )
