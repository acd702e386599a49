"""An effective configuration as JSON and as a table."""

from ksched_cli.config.answers import EffectiveConfiguration
from ksched_cli.config.load import load_configuration
from ksched_cli.report import configuration
from ksched_cli.report.table import EVERYTHING
from tests.config.registries import REGISTRY
from tests.report.schemas import conforms, squeezed

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
    text = squeezed(configuration.table(effective(PROFILES), EVERYTHING))
    assert any("NodeName*" in line for line in text)
    assert any("ImageLocality+ (7)" in line for line in text)
    assert "* named under the file's multiPoint, + named at the point itself" in text


def test_a_default_profile_has_no_marks() -> None:
    text = "\n".join(squeezed(configuration.table(effective(""), EVERYTHING)))
    assert text.startswith("profile default-scheduler (percentageOfNodesToScore: adaptive)")
    assert "* named" not in text


def test_extenders_come_last() -> None:
    extender = "extenders: [{urlPrefix: http://127.0.0.1, filterVerb: f, weight: 3}]"
    text = squeezed(configuration.table(effective(extender), EVERYTHING))
    assert text[-2] == "EXTENDER SETTINGS"
    assert text[-1].startswith("http://127.0.0.1 ")
