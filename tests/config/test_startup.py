"""What happens when kube-scheduler starts: errors in its order, or the effective configuration."""

import pytest

from ksched_cli.config import load_configuration
from ksched_cli.config.allowed_plugins import parse_allowed
from ksched_cli.config.review import judge
from ksched_cli.config.startup import StartupError
from tests.config.registries import REGISTRY, configured


def errors(body: str) -> tuple[StartupError, ...]:
    return judge(configured(body), REGISTRY).startup.errors


def test_what_an_extender_manages_alone_the_fit_ignores() -> None:
    text = configured(
        "extenders: [{urlPrefix: 'http://a', filterVerb: f,"
        " managedResources: [{name: example.com/x, ignoredByScheduler: true}]}]\n"
    )
    configuration = load_configuration(text, "config.yaml", REGISTRY)
    assert configuration.profiles[0].args["NodeResourcesFit"].ignored_resources == (
        "example.com/x",
    )
    assert configuration.extenders[0].http_timeout == 5 * 10**9


def test_extenders_come_before_profiles() -> None:
    start_errors = errors(
        "extenders: [{urlPrefix: 'https://a', tlsConfig: {caFile: /nowhere/ca}}]\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: Nowhere}]}}}]\n"
    )
    assert start_errors[0].extender == 0
    assert "open /nowhere/ca: no such file or directory" in start_errors[0].message
    assert (start_errors[1].profile, start_errors[1].plugin) == (0, "Nowhere")


@pytest.mark.parametrize(
    ("plugins", "point"),
    [
        ("{bind: {disabled: [{name: '*'}]}}", "bind"),
        ("{queueSort: {disabled: [{name: '*'}]}}", "queueSort"),
    ],
)
def test_a_profile_needs_one_queue_sort_plugin_and_a_bind_plugin(plugins: str, point: str) -> None:
    (error,) = errors(f"profiles: [{{plugins: {plugins}}}]\n")
    assert (error.point, error.panics) == (point, False)


def test_field_errors_in_args_are_kept_with_their_paths() -> None:
    args = "{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 101}]}}"
    (error,) = errors(f"profiles: [{{pluginConfig: [{{name: NodeResourcesFit, args: {args}}}]}}]\n")
    assert [item.path for item in error.fields] == ["scoringStrategy.resources[0].weight"]
    assert 'initializing plugin "NodeResourcesFit"' in error.message


def test_args_that_crash_the_plugin_panic() -> None:
    args = "{scoringStrategy: {type: RequestedToCapacityRatio}}"
    (error,) = errors(f"profiles: [{{pluginConfig: [{{name: NodeResourcesFit, args: {args}}}]}}]\n")
    assert error.panics
    assert error.crash is not None
    assert error.crash.rule == "no-shape"


def test_a_profile_has_its_own_percentage_of_nodes_or_that_of_the_whole() -> None:
    body = "profiles: [{schedulerName: a, percentageOfNodesToScore: 50}, {schedulerName: b}]\n"
    text = configured(f"percentageOfNodesToScore: 30\n{body}")
    profiles = load_configuration(text, "config.yaml", REGISTRY).profiles
    assert [profile.percentage_of_nodes_to_score for profile in profiles] == [50, 30]


def test_profiles_that_take_their_queue_sort_plugins_from_multi_point_need_the_same_one() -> None:
    profiles = [
        f"{{schedulerName: {name}, plugins: {{queueSort: {{disabled: [{{name: PrioritySort}}]}}, "
        f"multiPoint: {{enabled: [{{name: {plugin}}}]}}}}}}"
        for name, plugin in (("a", "Coscheduling"), ("b", "QOSSort"))
    ]
    text = configured(f"profiles: [{', '.join(profiles)}]\n")
    judgement = judge(text, REGISTRY, parse_allowed("Coscheduling,QOSSort"))
    assert judgement.verdict.error == (
        'initializing profiles: different queue sort plugins for profile "b": "QOSSort",'
        ' first: "Coscheduling"'
    )
