"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess  # nosec B404  # starts the pager
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ksched_cli.errors import ExitCode, OutputError, ReaderGoneError, shortened_lines
from ksched_cli.kube.versions import Release, release_of
from ksched_cli.report.forms import Form, render, safe_in_job
from ksched_cli.report.limit import MIN_WIDTH, TERMINAL, Limit
from ksched_cli.report.words import printable

if TYPE_CHECKING:
    from ksched_cli.answers import Answer
    from ksched_cli.commands.options import CommonOptions

STDERR = 2  # the descriptor
LESS = "FRX"  # quit where one screen shows it all, keep colours and the screen


@dataclass(slots=True)
class OutputSettings:
    """The settings of this run of ksched.

    quiet: no warnings; verbose: those that do not touch the question, too; pager: whether long
    tables go through one; browser: whether pages are shown in one; debug: whether the calls of
    plugins are noted; everything: whether lists are whole; timings: "table", a file, or neither
    """

    quiet: bool = False
    verbose: bool = False
    pager: bool = True
    browser: bool = False
    debug: bool = False
    everything: bool = False
    timings: str = ""


SETTINGS = OutputSettings()

_results: ContextVar[TextIO | None] = ContextVar("results", default=None)
_release: ContextVar[Release | None] = ContextVar("release", default=None)
_warnings: ContextVar[list[str] | None] = ContextVar("warnings", default=None)
_later: ContextVar[list[str]] = ContextVar("later")
_aside: ContextVar[set[str]] = ContextVar("aside")


def limit() -> Limit:
    """Return how much is shown: as wide as the terminal, or $COLUMNS says; 100 columns without
    either. Long lists are cut, in a pipe too, but for --all. Colours on a terminal, unless NO_COLOR
    is set."""
    rows = None if SETTINGS.everything else TERMINAL.rows
    width = shutil.get_terminal_size((TERMINAL.width or 0, 0)).columns
    colour = _shows_colours(results())
    return Limit(max(width, MIN_WIDTH), rows, colour)


def _shows_colours(stream: TextIO) -> bool:
    """Return whether a stream gets colours: NO_COLOR forbids them, FORCE_COLOR and CLICOLOR_FORCE
    want them even if it is no terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = (os.environ.get(name, "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))
    return stream.isatty() or any(value not in ("", "0", "false") for value in forced)


def show(answer: Answer, options: CommonOptions) -> ExitCode:
    """Print an answer whole, or not at all where rendering it fails, and return its exit code; a
    document has all warnings that were printed. Tables longer than the terminal go through $PAGER.

    Raises OutputError, ReaderGoneError
    """
    from msgspec import UNSET, structs

    # The document has all warnings that were printed, and the release whose rules were applied if
    # no question gave it one.
    answer = structs.replace(answer, warnings=tuple(_warnings.get() or answer.warnings))
    if not answer.kubernetes_version:
        release = _release.get() or release_of()
        version, inferred = release.version, release.inferred or UNSET
        answer = structs.replace(
            answer, kubernetes_version=version, kubernetes_version_from=inferred
        )
    form = options.output
    if form is Form.PARQUET:
        from ksched_cli.report.rows import as_parquet

        content = as_parquet(answer)
        with _printing():
            results().buffer.write(content)
            results().flush()
        return ExitCode.DEFECT if answer.assumes else answer.exit_code
    text = render(answer, form, limit())
    if form in (Form.TABLE, Form.WIDE):
        _show_table(text)
    elif form is Form.HTML and SETTINGS.browser:
        show_page(text)
    elif text or form not in (Form.NAME, Form.GITHUB):
        print_text(text)
    return ExitCode.DEFECT if answer.assumes else answer.exit_code


def show_text(text: str) -> None:
    """Print a text that is not an answer, as a table is printed. Raises OutputError,
    ReaderGoneError."""
    _show_table(safe_in_job(text, Form.TABLE))


def _show_table(text: str) -> None:
    height = shutil.get_terminal_size().lines
    if SETTINGS.pager and results().isatty() and text.count("\n") >= height - 1:
        _page(text)
    else:
        print_text(text)


def print_text(text: str) -> None:
    """Print a text to where results are printed. Raises OutputError, ReaderGoneError."""
    with _printing():
        print(text, file=results(), flush=True)


@contextmanager
def _printing() -> Iterator[None]:
    """Raise OutputError where what is printed meanwhile cannot be written, ReaderGoneError where
    nobody reads it."""
    try:
        yield
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as error:
        raise OutputError(error) from None


def _page(text: str) -> None:
    """Show a text as git does: through $PAGER, else less; plainly if that is empty, `cat` or
    missing."""
    try:
        command = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:  # a quote that does not end
        command = []
    if not command or command == ["cat"] or shutil.which(command[0]) is None:
        print_text(text)
        return
    environment = {"LESS": LESS, **os.environ}
    subprocess.run(  # nosec B603  # the program that $PAGER names, without a shell
        command, input=text + "\n", text=True, env=environment, check=False
    )


def set_release(release: Release) -> None:
    """Set whose rules the result follows; say so on standard error if nobody chose it."""
    _release.set(release)
    if release.inferred:
        note(f"Kubernetes {release.number} ({release.inferred})")


def note(line: str) -> None:
    """Print a line that is not a warning to standard error, but for --quiet."""
    if not SETTINGS.quiet:
        print(printable(shortened_lines(line)), file=sys.stderr)


def note_in_handler(line: str) -> None:
    """Print a line as `note` does, in the handler of a signal: that may come while a line is being
    printed, and then Python's buffer takes no other."""
    if not SETTINGS.quiet:
        with suppress(OSError):
            os.write(STDERR, f"{printable(shortened_lines(line))}\n".encode())


def warn(*lines: str) -> None:
    """Print each warning once, unless --quiet is given. The result's document gets it, too."""
    for line in _new(lines):
        if not SETTINGS.quiet:
            print(_warning(line), file=sys.stderr)


def warn_after(*lines: str) -> None:
    """Warn as `warn` does, but after the result: the answer comes first."""
    texts = [*map(_warning, _new(lines))]
    _later.get().extend(() if SETTINGS.quiet else texts)


def set_aside(lines: Iterable[str]) -> None:
    """Print no more than how many of these warnings there are, but for --verbose: they do not touch
    the question."""
    if not SETTINGS.verbose:
        _aside.get().update(map(_warning, lines))


def print_after(line: str) -> None:
    """Print a line to standard error after the result, even with --quiet."""
    _later.get().append(line)


def _new(lines: Iterable[str]) -> Iterator[str]:
    """Collect warnings for the result; yield those that are new to it."""
    collected = _warnings.get()
    for line in map(shortened_lines, lines):
        if collected is None:
            yield line
        elif line not in collected:
            collected.append(line)
            yield line


def _warning(line: str) -> str:
    """Return a warning as it is printed: on a terminal wrapped between words, with its beginning in
    colour."""
    if not sys.stderr.isatty():
        return f"warning: {printable(line)}"
    from ksched_cli.report.terminal import paragraph

    columns = max(os.get_terminal_size(sys.stderr.fileno()).columns, MIN_WIDTH)
    text = paragraph(f"warning: {line}", columns, "  ")
    return (
        text.replace("warning:", "\x1b[33mwarning:\x1b[0m", 1)
        if _shows_colours(sys.stderr)
        else text
    )


@contextmanager
def command_output() -> Iterator[None]:
    """Send whatever plugins print meanwhile to standard error, and collect warnings for the result;
    those that are not printed at once are printed after it."""
    results_token, warnings_token = _results.set(sys.stdout), _warnings.set([])
    release_token, later_token = _release.set(None), _later.set([])
    aside_token = _aside.set(set())
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        aside = _aside.get()
        lines = [line for line in _later.get() if line not in aside]
        if hidden := len(_later.get()) - len(lines):
            are, them = ("warnings are", "them") if hidden > 1 else ("warning is", "it")
            lines.append(f"{hidden:,} {are} about other pods or kinds; -v shows {them}")
        if lines:
            if sys.stdout.isatty() and sys.stderr.isatty():
                print(file=sys.stderr)  # below the answer
            print(*lines, sep="\n", file=sys.stderr)
        _later.reset(later_token)
        _aside.reset(aside_token)
        _results.reset(results_token)
        _warnings.reset(warnings_token)
        _release.reset(release_token)


def results() -> TextIO:
    """Return where results are printed to."""
    return _results.get() or sys.stdout


_PAGE = "page.html"
_SSH_FIELDS = 4  # of $SSH_CONNECTION: the reader's address and port, this machine's


def show_page(text: str) -> None:
    """Write the page to a folder of its own, which stays, and have the browser show it; say where
    it is, and over SSH how to fetch it. Raises OutputError."""
    import tempfile
    import webbrowser

    try:
        folder = Path(tempfile.mkdtemp(prefix="ksched-"))
        # The page is written whole, or not at all: a browser never sees half of it.
        part = folder / f"{_PAGE}.part"
        part.write_text(text + "\n", encoding="ascii")
        path = part.rename(folder / _PAGE)
    except OSError as error:
        raise OutputError(error) from None
    # Over SSH without a display, the reader's terminal tells how it reaches this machine.
    connection = os.environ.get("SSH_CONNECTION", "").split()
    if len(connection) == _SSH_FIELDS and not os.environ.get("DISPLAY"):
        host = f"[{connection[2]}]" if ":" in connection[2] else connection[2]
        print(f"the page is {path}; fetch it with: scp {host}:{path} .", file=sys.stderr)
    elif webbrowser.open(path.as_uri()):
        print(f"the page is {path}", file=sys.stderr)
    else:
        print(f"warning: there is no browser to show it; the page is {path}", file=sys.stderr)
