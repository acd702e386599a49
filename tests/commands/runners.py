"""Types of the fixtures that run commands and write the files they read; a command's answer."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tests.report.schemas import conforms

# Command line → exit code.
ExitCode: TypeAlias = Callable[..., int]
# Command line → exit code, standard output, standard error.
Ksched: TypeAlias = Callable[..., tuple[int, str, str]]
# Objects → the path of a state file with them.
WriteState: TypeAlias = Callable[..., Path]
# Text or bytes → the path of a configuration file with them.
WriteConfig: TypeAlias = Callable[[str | bytes], Path]
# Arguments, and `objects` of the state → exit code and the result as JSON.
Answer: TypeAlias = Callable[..., tuple[int, dict[str, Any]]]


def answering(command: str, schema: str, ksched: Ksched, write_state: WriteState) -> Answer:
    """Exit code and result of a command, which has the shape that its schema promises."""

    def answer(*args: object, objects: Sequence[dict[str, Any]]) -> tuple[int, dict[str, Any]]:
        code, out, err = ksched(command, *args, "--state", write_state(*objects), "-o", "json")
        assert out, err
        return code, conforms(json.loads(out), schema)

    return answer
