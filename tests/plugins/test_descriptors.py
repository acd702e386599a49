"""An in-tree plugin is its package and one line: its descriptor says all that others need."""

import pytest
from msgspec.structs import replace

from ksched_cli.config import load_configuration
from ksched_cli.config.effective import InTreeArgs, Profile, StartupCrash
from ksched_cli.config.go_types import INT32, field
from ksched_cli.config.review import review
from ksched_cli.config.types import API_VERSION, TypeMeta
from ksched_cli.errors import InputError
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.kube.field_errors import FieldError, child, invalid
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of, short_names
from ksched_cli.schemas.configuration import configuration_schema
from tests.config.registries import configured
from tests.narrowing import present


class TidalArgs(TypeMeta):
    height: int | None = field(INT32, pointer=True, minimum=1)


def validate(args: TidalArgs, path: str) -> list[FieldError]:
    height = present(args.height)
    return [invalid(child(path, "height"), height, "too low")] if height < 1 else []


def set_defaults(args: TidalArgs) -> TidalArgs:
    return replace(args, height=7 if args.height is None else args.height)


def startup_crash(args: TidalArgs) -> StartupCrash | None:
    if args.height == 13:
        return StartupCrash("unlucky", "height", "13 crashes kube-scheduler", "take 12")
    return None


TIDAL = PluginEntry.in_tree(
    "Tidal",
    "nowhere.tidal",
    "preScore score",
    weight=4,
    short_name="Tide",
    args=InTreeArgs(TidalArgs, set_defaults, validate, startup_crash),
)
REGISTRY = registry_of(release_of(), [TIDAL])


def with_args(args: str) -> str:
    return configured(f"profiles:\n- pluginConfig: [{{name: Tidal, args: {args}}}]\n")


def findings(args: str) -> list[tuple[str, ...]]:
    return [
        (finding.rule, finding.path.rpartition("args")[2], finding.hint)
        for finding in review(with_args(args), REGISTRY).findings
    ]


def profile(text: str | None = None) -> Profile:
    return load_configuration(text, "config.yaml", REGISTRY).profiles[0]


def test_it_is_enabled_by_default_last_and_with_its_weight() -> None:
    assert [ref.name for ref in profile().plugins["score"]][-1] == "Tidal"
    assert profile().plugins["score"][-1].origin == "default"
    assert profile().weights["Tidal"] == 4
    assert "Tidal" not in {ref.name for ref in profile().plugins["filter"]}


def test_its_args_have_their_type_and_defaults() -> None:
    assert profile().args["Tidal"] == TidalArgs("TidalArgs", API_VERSION, 7)
    assert profile(with_args("{height: 9}")).args["Tidal"].height == 9


def test_its_args_are_validated_by_its_own_check() -> None:
    assert findings("{height: 0}") == [("invalid-value", ".height", "")]
    assert findings("{height: 1}") == []


def test_its_args_are_decoded_by_its_own_type() -> None:
    assert findings("{heigth: 1}") == [("unknown-key", ".heigth", 'did you mean "height"?')]
    assert findings("{height: high}") == [("wrong-type", ".height", "")]
    assert findings("{kind: TideArgs}")[0][:2] == ("args-kind", ".kind")


def test_args_that_crash_it_are_found() -> None:
    assert findings("{height: 13}") == [("unlucky", ".height", "take 12")]
    with pytest.raises(InputError, match="13 crashes"):
        profile(with_args("{height: 13}"))


def test_its_args_are_in_the_schema() -> None:
    definition = configuration_schema(REGISTRY)["$defs"]["TidalArgs"]
    assert definition["properties"]["height"]["minimum"] == 1
    assert definition["properties"]["kind"]["enum"] == ["TidalArgs", "", None]


def test_its_column_has_its_short_name() -> None:
    assert short_names(REGISTRY.values())["Tidal"] == "Tide"
    assert "Tidal" not in short_names()


def test_a_registry_without_it_knows_nothing_of_it() -> None:
    result = review(with_args("{height: 0}"), registry_of(release_of()))
    assert {finding.rule for finding in result.findings} == {"args-of-unknown"}
