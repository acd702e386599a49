"""The oracles, one per Kubernetes minor: building them, and asking them case after case.

python oracle.py [MINOR …]    builds them (default 1.34), or says why not (exit status 2)
"""

import json
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cases import OLDEST, Case
from releases import MODULES, RELEASES, environment, version_of

HERE = Path(__file__).parent
PATIENCE = 120.0  # seconds for one case


class UnavailableError(Exception):
    """There is no oracle, and why."""


def binary(minor: str) -> Path:
    return HERE / ("oracle" if minor == OLDEST else f"oracle-{minor}")


def tags(minor: str) -> str:
    """The build tags: from1NN for a minor and for each before it that has an oracle."""
    minors = [*MODULES]
    earlier = minors[: minors.index(".".join(minor.split(".")[:2])) + 1]
    return ",".join(f"from{each.replace('.', '')}" for each in earlier)


def build(minor: str = OLDEST) -> Path:
    """Builds the oracle of a minor, or of a patch release, where Go is there and a source is newer
    than the binary."""
    module = HERE / RELEASES[minor]
    sources = [*HERE.glob("*.go"), module, module.with_suffix(".sum")]
    oracle = binary(minor)
    if oracle.exists() and oracle.stat().st_mtime >= max(f.stat().st_mtime for f in sources):
        return oracle
    go = shutil.which("go")
    if go is None:
        raise UnavailableError("Go is not installed, and the oracle is a Go program")
    # What the scheduler calls its version is set when it is linked; NodeDeclaredFeatures reads it.
    version = f"-X k8s.io/component-base/version.gitVersion={version_of(module)}"
    options = [f"-modfile={module}", "-tags", tags(minor), "-ldflags", version]
    # `go run` puts what it links into Go's build cache, which `go build` does not, and linking
    # takes nine seconds of a core. Nothing is run: the program is copied from the cache.
    done = subprocess.run(
        [go, "run", *options, "-exec", "install", ".", str(oracle)],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
        env=environment(module),
    )
    if done.returncode:
        raise UnavailableError(f"go run failed:\n{done.stderr.strip()}")
    return oracle


class Oracle:
    """Answers cases in one process, and begins anew when a case brought that down."""

    def __init__(self, minor: str = OLDEST) -> None:
        self.binary = build(minor)
        self.process: subprocess.Popen[bytes] | None = None
        # A pipe would be full some day, and the oracle would wait for a reader.
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # of all its processes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, case: Case) -> dict[str, Any]:
        if case.is_config:
            return self.config(case.config or "")
        if case.timeline:
            return self.replay(case.timeline, case.state, case.config, case.gates)
        return self.run(case.state, case.config, case.gates)

    def run(self, state: str, config: str | None = None, gates: str = "") -> dict[str, Any]:
        """The answer to a state: {"result": as expected.json} or {"error": text}."""
        return self.answer({"mode": "run", "state": state, "config": config, "gates": gates})

    def replay(
        self, timeline: str, state: str, config: str | None = None, gates: str = ""
    ) -> dict[str, Any]:
        """timeline: JSON lines, the header first. The result has attempts and queues."""
        header, *events = (json.loads(line) for line in timeline.splitlines())
        text = json.dumps({**header, "events": events})
        question = {"mode": "replay", "timeline": text, "state": state}
        return self.answer({**question, "config": config, "gates": gates})

    def config(self, config: str) -> dict[str, Any]:
        return self.answer({"mode": "config", "config": config})

    def decoding(self, text: str) -> dict[str, Any]:
        """What the API's decoder makes of an object's JSON: {"result": {"refused": why, "foreign":
        whether it has no such kind, "strict": what only strict decoding refuses}}."""
        return self.answer({"mode": "decode", "state": text})

    def refused_gates(self, text: str) -> dict[str, Any]:
        """{"result": {"error": upstream's refusal of a value of --feature-gates, or ""}}."""
        return self.answer({"mode": "gates", "gates": text})

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if self.process is None:
            self.process = subprocess.Popen(
                [self.binary, "run", "--batch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
            )
        line = b""
        with suppress(BrokenPipeError):  # it died; what follows finds out
            line = self.exchange(self.process, json.dumps(question).encode() + b"\n")
        if line.endswith(b"\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        late = self.process.poll() is None
        self.process.kill()
        self.process.communicate()
        self.process = None
        self.errors.seek(0)
        why = (
            f"no answer within {PATIENCE:.0f} s"
            if late
            else self.errors.read().decode(errors="replace")[-4000:]
        )
        return {"error": f"the oracle died: {why}"}

    @staticmethod
    def exchange(process: subprocess.Popen[bytes], question: bytes) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(question)
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        return process.stdout.readline() if ready else b""


@contextmanager
def extender_server(cases: Path | None) -> Iterator[None]:
    """Runs the extender that the cases of the family `extenders` name, on port 18700."""
    script = None if cases is None else cases / "extender.py"
    if script is None or not script.exists():
        yield
        return
    server = subprocess.Popen([sys.executable, script, "18700"], stderr=subprocess.DEVNULL)
    time.sleep(1)
    try:
        yield
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    try:
        for minor in sys.argv[1:] or [OLDEST]:
            print(build(minor))
    except UnavailableError as why:
        print(f"no oracle: {why}", file=sys.stderr)
        sys.exit(2)
