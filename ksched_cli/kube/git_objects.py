"""Files as git has them: REV:PATH, as `git show` takes it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess  # nosec B404  # runs git

from ksched_cli.errors import InputError
from ksched_cli.kube.file_paths import split_reference

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
        raise InputError(reference, "there is no such file, and no git that knows it")
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
