"""Types of the fixtures that run commands and write the files they read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

# Command line → exit code, standard output, standard error.
Ksched: TypeAlias = Callable[..., tuple[int, str, str]]
# Objects → the path of a state file with them.
WriteState: TypeAlias = Callable[..., Path]
# Text or bytes → the path of a configuration file with them.
WriteConfig: TypeAlias = Callable[[str | bytes], Path]
# Arguments, and `objects` of the state → exit code and the result as JSON.
Answer: TypeAlias = Callable[..., tuple[int, dict[str, Any]]]
