"""Plugins of other distributions: found by entry point, each in a guard of its own."""

from importlib.metadata import EntryPoint
from types import SimpleNamespace
from unittest import mock

import pluggy
import pytest

from framework.toys import filtering
from ksched_cli.errors import UsageError
from ksched_cli.framework import discovery
from ksched_cli.framework.hookspecs import PROJECT
from ksched_cli.framework.interface import API_VERSION
from ksched_cli.plugins import IN_TREE

hookimpl = pluggy.HookimplMarker(PROJECT)


def module(**plugins):
    """What an entry point of a distribution with these plugins loads."""

    class Module:
        KSCHED_API = API_VERSION

        @hookimpl
        def ksched_plugins(self):
            return plugins

    return Module()


def discover(**modules):
    """modules: entry point name → what it loads, or the exception that loading raises."""

    def load(point):
        found = modules[point.name]
        if isinstance(found, Exception):
            raise found
        return found

    points = [EntryPoint(name, "somewhere", PROJECT) for name in modules]
    with (
        mock.patch.object(discovery, "entry_points", return_value=points),
        mock.patch.object(EntryPoint, "load", load),
    ):
        return discovery.discover(IN_TREE)


def test_in_tree_plugins_come_first_and_in_their_order():
    found = discover(mine=module(Mine=filtering("Mine", {})))
    assert list(found.registry) == [*(entry.name for entry in IN_TREE), "Mine"]
    assert found.registry["Mine"].points == {"filter"}
    assert found.broken == ()


def test_a_distribution_that_cannot_be_loaded_is_reported_and_the_others_work():
    found = discover(bad=ImportError("no such module"), mine=module(Mine=filtering("Mine", {})))
    assert "Mine" in found.registry
    assert [one.cause for one in found.broken] == ["ImportError: no such module"]


def test_a_hook_that_raises_is_reported():
    class Raising:
        KSCHED_API = API_VERSION

        @hookimpl
        def ksched_plugins(self):
            raise RuntimeError("not today")

    (broken,) = discover(bad=Raising()).broken
    assert "not today" in broken.cause


def test_two_plugins_of_one_name_are_refused_with_both_origins():
    with pytest.raises(UsageError, match='two plugins are named "NodeName": one from in-tree'):
        discover(mine=module(NodeName=filtering("NodeName", {})))


def test_the_origin_is_the_distribution_and_its_version():
    point = SimpleNamespace(dist=SimpleNamespace(name="my-plugins", version="1.2"), value="m")
    assert discovery._origin(point) == "my-plugins 1.2"
