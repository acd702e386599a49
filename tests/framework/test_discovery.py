"""Plugins from outside: installed ones and those under work, each in a guard of its own."""

import subprocess
import sys
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock
from zipfile import ZipFile

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.load import load_configuration
from ksched_cli.errors import UsageError
from ksched_cli.framework import discovery
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.discovery import Discovery, ImportPolicy, source_identity
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.hookspecs import PROJECT, hookimpl
from ksched_cli.framework.interface import (
    API_VERSION,
    FilterPlugin,
    PermitPlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import PluginError
from ksched_cli.plugins import IN_TREE
from ksched_cli.run.plugins import usable
from tests.config.registries import configured
from tests.framework.toys import Toy, filtering

PLUGIN = """
from ksched_cli.api import FilterPlugin, ScorePlugin, SUCCESS

class Mine(FilterPlugin):
    name = "Mine"

    def filter(self, state, pod, node):
        return SUCCESS

class Other(ScorePlugin):
    name = "Other"

    def score(self, state, pod, node):
        return 1
"""


def module(api: int = API_VERSION, **plugins: Any) -> object:
    """What an entry point of a distribution with these plugins loads."""

    class Module:
        KSCHED_API = api

        @hookimpl
        def ksched_plugins(self) -> dict[str, Any]:
            return plugins

    return Module()


def discover(*sources: str, **modules: Any) -> Discovery:
    """sources: as --plugin names them; modules: entry point name → what it loads, or the exception
    that loading raises."""

    def load(point: Any) -> Any:
        loaded = modules[point.name]
        if isinstance(loaded, Exception):
            raise loaded
        return loaded

    points = [EntryPoint(name, "somewhere", PROJECT) for name in modules]
    with (
        mock.patch.object(discovery, "entry_points", return_value=points),
        mock.patch.object(EntryPoint, "load", load),
    ):
        return discovery.discover(IN_TREE, sources)


def cause(**modules: Any) -> str:
    (broken,) = discover(**modules).broken
    return broken.cause


def test_in_tree_plugins_come_first_and_in_their_order() -> None:
    discovered = discover(mine=module(Mine=filtering("Mine", {})))
    assert list(discovered.registry) == [*(entry.name for entry in IN_TREE), "Mine"]
    assert discovered.registry["Mine"].points == {"filter"}
    assert discovered.broken == ()


def test_a_distribution_that_cannot_be_loaded_is_reported_and_the_others_work() -> None:
    discovered = discover(
        bad=ImportError("no such module"), mine=module(Mine=filtering("Mine", {}))
    )
    assert "Mine" in discovered.registry
    assert [source.cause for source in discovered.broken] == ["ImportError: no such module"]


def test_a_hook_that_raises_is_reported() -> None:
    class Raising:
        KSCHED_API = API_VERSION

        @hookimpl
        def ksched_plugins(self) -> None:
            raise RuntimeError("not today")

    assert cause(bad=Raising()) == "RuntimeError: not today"


def test_a_distribution_for_another_api_is_reported() -> None:
    message = cause(bad=module(api=API_VERSION + 1, Mine=filtering("Mine", {})))
    assert message == f"it is for plugin API {API_VERSION + 1}; this ksched has {API_VERSION}"


def test_a_distribution_has_to_say_which_api_it_is_for() -> None:
    assert "KSCHED_API is missing" in cause(bad=SimpleNamespace())


def test_a_distribution_without_the_hook_is_reported() -> None:
    assert (
        cause(bad=SimpleNamespace(KSCHED_API=API_VERSION)) == "it does not implement the hook "
        "ksched_plugins"
    )


class Pointless:
    name = "P"


class Unfinished(PermitPlugin):
    name = "P"


class Scoped(Toy, FilterPlugin):
    name = "P"
    scope = cast(Scope, "node")


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (object(), "expected a class that extends Plugin"),
        (Pointless, "expected a class that extends Plugin"),
        (filtering("Q", {}), "is registered as \"P\", but its name is 'Q'"),
        (Unfinished, "P has no permit"),
        (Scoped, "P's scope is 'node', expected a Scope"),
    ],
)
def test_what_is_no_plugin_is_reported(plugin: object | type[Any], message: str) -> None:
    assert message in cause(bad=module(P=plugin))


def test_two_plugins_of_one_name_are_refused_with_both_origins() -> None:
    with pytest.raises(UsageError, match='two plugins are named "NodeName": one from in-tree'):
        discover(mine=module(NodeName=filtering("NodeName", {})))


def test_two_installed_plugins_of_one_name_are_refused_only_where_the_name_is_used() -> None:
    discovered = discover(first=module(P=filtering("P", {})), second=module(P=filtering("P", {})))
    assert not discovered.broken
    load_configuration(configured(""), "c.yaml", discovered.registry)
    enabled = configured("profiles: [{plugins: {filter: {enabled: [{name: P}]}}}]\n")
    with pytest.raises(UsageError, match='"P": one from somewhere, one from somewhere; uninstall'):
        load_configuration(enabled, "c.yaml", discovered.registry)
    (source,) = discovery.tried(discovered).broken
    assert "two plugins are named" in source.cause


def test_a_plugin_that_is_asked_for_replaces_installed_ones_of_its_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    rivals = (module(Mine=filtering("Mine", {})), module(Mine=filtering("Mine", {})))
    discovered = discover(str(file), first=rivals[0], second=rivals[1])
    assert discovered.registry["Mine"].origin == str(file)
    warnings: list[str] = []
    usable(discovered, warnings.append)
    assert warnings == [f"{file} replaces the plugin Mine of somewhere"]
    other = tmp_path / "other.py"
    other.write_text(PLUGIN)
    with pytest.raises(UsageError, match='two plugins are named "Mine"'):
        discover(f"{file}:Mine", f"{other}:Mine", first=rivals[0])


def test_the_origin_is_the_distribution_and_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = f"from ksched_cli.api import hookimpl\nKSCHED_API = {API_VERSION}\n@hookimpl\n"
    hook += "def ksched_plugins():\n    return {Mine.name: Mine}\n"
    (tmp_path / "of_my_plugins.py").write_text(PLUGIN + hook)
    information = tmp_path / "my_plugins-1.2.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugins\nVersion: 1.2\n")
    (information / "entry_points.txt").write_text(f"[{PROJECT}]\nmine = of_my_plugins\n")
    monkeypatch.syspath_prepend(tmp_path)
    points = metadata.entry_points(group=PROJECT, name="mine")
    with mock.patch.object(discovery, "entry_points", return_value=points):
        discovered = discovery.discover(IN_TREE)
    assert not discovered.broken
    assert discovered.registry["Mine"].origin == "my-plugins 1.2"


# -- by hand --------------------------------------------------------------------------------------


def test_a_file_brings_all_its_plugins(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    registry = discover(str(file)).registry
    assert registry["Mine"].points == {"filter"}
    assert registry["Other"].origin == str(file)
    assert registry["Mine"].is_foreign


def test_a_file_may_be_asked_for_one_of_them(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    registry = discover(f"{file}:Other").registry
    assert "Other" in registry
    assert "Mine" not in registry


def test_a_module_beside_the_user_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "beside_plugin.py").write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert "Mine" in discover("beside_plugin:Mine").registry


def test_a_file_that_reads_its_neighbour_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "the_neighbour.py").write_text("NAME = 'Mine'\n")
    file = tmp_path / "reading.py"
    file.write_text("from the_neighbour import NAME\n" + PLUGIN.replace('"Mine"', "NAME"))
    assert "Mine" in discover(str(file)).registry


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("def broken(:", "SyntaxError"),
        ("x = 1", "it has no plugin class with a `name`"),
        (f"KSCHED_API = 9\nksched_plugins = None\n{PLUGIN}", "it is for plugin API 9"),
    ],
)
def test_a_file_that_brings_none_is_reported(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    (broken,) = discover(str(file)).broken
    assert message in broken.cause
    assert broken.is_requested


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.py", "there is no such file"),
        ("math:Mine", "math has no Mine"),
        ("mine", "expected MODULE:NAME or FILE.py"),
    ],
)
def test_what_cannot_be_found_is_reported(source: str, message: str) -> None:
    (broken,) = discover(source).broken
    assert broken.cause == message


def test_a_file_may_not_take_the_name_of_another(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN.replace('"Mine"', '"NodeName"'))
    with pytest.raises(UsageError, match=r"one from in-tree, one from .*mine\.py"):
        discover(str(file))


# -- making ---------------------------------------------------------------------------------------


def making(problem: PluginError | ValueError, **more: Any) -> type[ScorePlugin]:
    class Fragile(ScorePlugin):
        name = "Fragile"

        def __init__(self, args: Any, handle: Handle) -> None:
            raise problem

        def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
            return 0

    for key, value in more.items():
        setattr(Fragile, key, value)
    return Fragile


def test_a_plugin_that_cannot_be_made_is_broken() -> None:
    tried = discovery.tried(discover(mine=module(Fragile=making(ValueError("odd")))))
    assert "Fragile" not in tried.registry
    assert [source.cause for source in tried.broken] == ["Fragile cannot be made: ValueError: odd"]


@pytest.mark.parametrize(
    "plugin",
    [
        making(PluginError("not without args")),
        making(ValueError("odd"), args={"type": "object", "required": ["weight"]}),
    ],
)
def test_a_plugin_that_wants_args_is_taken_at_its_word(plugin: type[ScorePlugin]) -> None:
    tried = discovery.tried(discover(mine=module(Fragile=plugin)))
    assert "Fragile" in tried.registry


def test_a_file_may_name_what_the_command_line_names_and_by_default_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.py").symlink_to("p.py")
    policy = ImportPolicy(("p.py", "q.py:Q", "package.module:R"), others=False)
    for source in ("p.py", f"{tmp_path}/p.py", "../x/../" + f"{tmp_path.name}/p.py", "link.py"):
        policy.check(source, "sweep.yaml")
    for source in ("./q.py:Q", "package.module:R"):
        policy.check(source, "sweep.yaml")
    for source in ("x/p.py", "p.py:P", "q.py", "q.py:P", "package.module:S", "package.module"):
        with pytest.raises(UsageError) as refusal:
            policy.check(source, "sweep.yaml")
        assert str(refusal.value) == (
            f"sweep.yaml names the plugin {source}, but --no-plugins (noPlugins of "
            ".ksched.yaml) allows only plugins that --plugin names"
        )
        ImportPolicy(others=True).check(source, "sweep.yaml")


def test_a_source_is_the_same_however_its_path_is_written(tmp_path: Path) -> None:
    assert source_identity(f"{tmp_path}/x/../p.py:P") == (f"{tmp_path}/p.py", "P")
    assert source_identity("package.module:P") == ("package.module", "P")
    assert source_identity("module") == ("module", "")
    assert source_identity("a\0.py") == ("a\0.py", "")


def entry_points_of(folder: Path) -> set[str]:
    """The names of entry points, and "loaded" if importlib.metadata was asked, in a process of its
    own that finds distributions in a folder only."""
    script = (
        "import sys\n"
        "from ksched_cli.framework.discovery import entry_points\n"
        "from importlib.machinery import PathFinder\n"
        f"sys.path[:] = [path for path in sys.path if 'packages' not in path] + [{str(folder)!r}]\n"
        "sys.meta_path[:] = [x for x in sys.meta_path if not hasattr(x, 'find_distributions')]\n"
        "sys.meta_path += [PathFinder]\n"
        "names = [point.name for point in entry_points()]\n"
        "print(*names, *(['loaded'] if 'importlib.metadata' in sys.modules else []))\n"
    )
    command = [sys.executable, "-c", script]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_distributions_are_asked_for_entry_points_only_if_one_may_have_some(tmp_path: Path) -> None:
    assert entry_points_of(tmp_path) == set()
    distribution = tmp_path / "other-1.0.dist-info"
    distribution.mkdir()
    (distribution / "entry_points.txt").write_text("[console_scripts]\nksched = other:main\n")
    assert entry_points_of(tmp_path) == set()
    plugins = tmp_path / "Mine-1.0.dist-info"
    plugins.mkdir()
    (plugins / "entry_points.txt").write_text("[ksched]\nmine = mine.plugins\n")
    assert entry_points_of(tmp_path) == {"mine", "loaded"}


def test_what_is_installed_while_a_process_runs_is_noticed(tmp_path: Path) -> None:
    distribution = tmp_path / "Mine-1.0.dist-info"
    script = (
        "import importlib.metadata, sys\n"
        "from pathlib import Path\n"
        "from ksched_cli.framework.discovery import entry_points\n"
        f"sys.path.append({str(tmp_path)!r})\n"
        f"distribution = Path({str(distribution)!r})\n"
        "named = lambda: [point.value for point in entry_points() if point.name == 'of-mine']\n"
        "print(*named(), 'before')\n"
        "distribution.mkdir()\n"
        "(distribution / 'entry_points.txt').write_text('[ksched]\\nof-mine = mine.plugins\\n')\n"
        "print(*named(), *named())\n"
        "distribution.rename(distribution.with_name('gone'))\n"
        "print(*named(), 'after')\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["before", "mine.plugins mine.plugins", "after"]


def test_plugins_of_a_zip_file_are_installed_too(tmp_path: Path) -> None:
    path = tmp_path / "plugins.zip"
    with ZipFile(path, "w") as file:
        file.writestr("mine-1.0.dist-info/METADATA", "Name: mine\nVersion: 1.0\n")
        file.writestr("mine-1.0.dist-info/entry_points.txt", "[ksched]\nmine = mine.plugins\n")
    assert entry_points_of(path) == {"mine", "loaded"}
