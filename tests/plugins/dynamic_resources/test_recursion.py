"""The recursion limit is raised for a search, and put back."""

import sys

from ksched_cli.plugins.dynamic_resources.recursion import recursion_limit_for


def test_the_limit_is_put_back() -> None:
    before = sys.getrecursionlimit()
    with recursion_limit_for(10):
        assert sys.getrecursionlimit() == before + 80
    assert sys.getrecursionlimit() == before
