"""What `snapshot` says of the file that it wrote."""

from ksched_cli.live.snapshot import ClusterSnapshot, ReadList, SnapshotResult
from ksched_cli.report.snapshot import table
from ksched_cli.report.table import TERMINAL

LISTS = (
    ReadList("Node", "v1", "", 5_000, "107"),
    ReadList("Pod", "v1", "web", 20_000, "110"),
    ReadList("Service", "v1", "", 0, "111"),
)


def written(*lists: ReadList) -> SnapshotResult:
    about = ClusterSnapshot("https://a", "v1.34.1", "2026-01-01T00:00:00Z", lists, ())
    source = "context prod of ~/.kube/config"
    return SnapshotResult.of("cluster.json.gz", 1_234_567, source, about)


def test_the_table_has_the_kinds_that_there_are_objects_of() -> None:
    assert table(written(*LISTS), TERMINAL).splitlines() == [
        "wrote cluster.json.gz: 25,000 objects, 1.2 MB",
        "from context prod of ~/.kube/config, Kubernetes v1.34.1",
        "",
        "KIND  OBJECTS  NAMESPACES  RESOURCE VERSION",
        "Node  5,000    all         107",
        "Pod   20,000   web         110",
        "",
        "The lists were read one after the other; the last is 4 revisions newer than the first.",
    ]


def test_lists_of_one_revision_are_of_one_moment() -> None:
    assert table(written(LISTS[0]), TERMINAL).endswith("are of one revision of the cluster.")


def test_resource_versions_that_are_no_numbers_tell_nothing() -> None:
    opaque = ReadList("Pod", "v1", "", 1, "x-7")
    assert table(written(LISTS[0], opaque), TERMINAL).endswith("read one after the other.")
    assert written(opaque).revisions_apart is None


def test_the_document_has_every_list() -> None:
    assert [entry.namespace for entry in written(*LISTS).lists] == [
        None, "web", None,
    ]  # fmt: skip
