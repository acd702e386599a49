"""The page of an effective configuration shows what the record has."""

from tests.commands.runners import Ksched, WriteConfig
from tests.report.html.pages import check_stands_alone

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: packing
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 7}]}}
  plugins:
    multiPoint: {enabled: [{name: NodeResourcesFit, weight: 9}]}
extenders:
- {urlPrefix: http://127.0.0.1:1/x, filterVerb: filter, weight: 1}
"""


def test_profiles_weights_args_and_extenders_are_shown(
    ksched: Ksched, write_config: WriteConfig
) -> None:
    code, out, _ = ksched("config", "show", write_config(CONFIG), "-o", "html")
    assert code == 0
    text = " ".join(check_stands_alone(out).text)
    assert "1 profile: packing" in text
    assert "NodeResourcesFit*" in text
    assert "NodeResourcesFit 9" in text
    assert '"MostAllocated"' in text
    assert "http://127.0.0.1:1/x" in text
