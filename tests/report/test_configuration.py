"""An effective configuration as JSON and as text."""

from ksched_cli.analysis.configuration import EffectiveConfiguration
from ksched_cli.config.load import load_configuration
from ksched_cli.report.limit import EVERYTHING
from tests.config.registries import REGISTRY
from tests.report.schemas import conforms, shown

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PROFILES = """
percentageOfNodesToScore: 40
profiles:
- schedulerName: own
  percentageOfNodesToScore: 7
- schedulerName: shared
  plugins:
    multiPoint: {enabled: [{name: NodeName}]}
    score: {enabled: [{name: ImageLocality, weight: 7}]}
"""


def effective(text: str) -> EffectiveConfiguration:
    return EffectiveConfiguration.of(load_configuration(HEAD + text, "c.yaml", REGISTRY))


def test_configurations_are_as_their_schema_says() -> None:
    extender = "extenders: [{urlPrefix: http://127.0.0.1, filterVerb: f}]"
    for text in ("", PROFILES, extender):
        conforms(effective(text), "effective_configuration")


def test_a_profile_has_its_own_percentage_or_that_of_all() -> None:
    answer = effective(PROFILES)
    assert answer.percentage_of_nodes_to_score == {"own": 7, "shared": 40}


def test_marks_say_where_a_plugin_is_named() -> None:
    text = shown(effective(PROFILES), EVERYTHING)
    assert any("NodeName*" in line for line in text)
    assert any("ImageLocality+ (7)" in line for line in text)
    assert (
        "percentageOfNodesToScore: 40; * named under the file's multiPoint, + named at the point "
        "itself"
    ) in text


def test_a_default_profile_has_no_marks() -> None:
    text = shown(effective(""), EVERYTHING)
    assert text[:5] == [
        "1 profile: default-scheduler",
        "",
        "parallelism 16, pod backoff 1 s to 10 s",
        "",
        "Profile default-scheduler",
    ]
    assert "percentageOfNodesToScore: adaptive" in text


def test_extenders_come_last() -> None:
    extender = "extenders: [{urlPrefix: http://127.0.0.1, filterVerb: f, weight: 3}]"
    text = shown(effective(extender), EVERYTHING)
    assert text[-3:-1] == ["Extenders", "URL SETTINGS"]
    assert text[-1].startswith("http://127.0.0.1 ")
