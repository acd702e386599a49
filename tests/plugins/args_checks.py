"""Checking the args of in-tree plugins by hand."""

from typing import Any

from ksched_cli.config.effective import InTreeArgs

PATH = "args"


def error_texts(in_tree_args: InTreeArgs[Any], args: Any) -> list[str]:
    """The errors of args as they are given, with their paths inside the args."""
    errors = in_tree_args.errors(args, PATH)
    assert [error.path[: len(PATH)] for error in errors] == [PATH] * len(errors)
    return [error.text().removeprefix(f"{PATH}.") for error in errors]
