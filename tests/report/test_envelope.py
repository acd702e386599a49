"""What every document has."""

from ksched_cli.kube.versions import release_of
from ksched_cli.report.envelope import with_envelope


def test_a_document_names_the_release_and_has_all_warnings() -> None:
    document = {"apiVersion": "ksched/v1", "kind": "PluginList", "plugins": []}
    whole = with_envelope(document, release_of("1.34"), ("odd",))
    assert isinstance(whole, dict)
    assert list(whole) == ["apiVersion", "kind", "kubernetesVersion", "plugins", "warnings"]
    assert (whole["kubernetesVersion"], whole["warnings"]) == ("v1.34.1", ["odd"])
