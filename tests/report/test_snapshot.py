"""What `snapshot` says of the file that it wrote, and `record` of its parts."""

from ksched_cli.live.recorder import RecordedPart, RecordResult
from ksched_cli.live.snapshot import ClusterSnapshot, ReadList, SnapshotResult
from tests.report.schemas import shown

LISTS = (
    ReadList("Node", "v1", "", 5_000, "107"),
    ReadList("Pod", "v1", "web", 20_000, "110"),
    ReadList("Service", "v1", "", 0, "111"),
)
PART = RecordedPart("r.jsonl", "r-state.json", 12, 0, 100, 60.0)


def written(*lists: ReadList) -> SnapshotResult:
    about = ClusterSnapshot("https://a", "v1.34.1", "2026-01-01T00:00:00Z", lists, ())
    source = "context prod of ~/.kube/config"
    return SnapshotResult.of("cluster.json.gz", 1_234_567, source, about)


def recorded(*parts: RecordedPart) -> RecordResult:
    return RecordResult(server="https://x", parts=parts, source="context prod")


def test_the_table_has_the_kinds_that_there_are_objects_of_the_most_frequent_first() -> None:
    assert shown(written(*LISTS)) == [
        "wrote cluster.json.gz: 25,000 objects, 1.2 MB",
        "from context prod of ~/.kube/config, Kubernetes v1.34.1",
        "read from 2026-01-01T00:00:00Z on, one list after the other; the last is 4 revisions "
        "newer than the",
        "first",
        "",
        "Objects by kind",
        "KIND OBJECTS NAMESPACES RESOURCE VERSION",
        "Pod 20,000 web 110",
        "Node 5,000 all 107",
    ]


def test_lists_of_one_revision_are_of_one_moment() -> None:
    assert shown(written(LISTS[0]))[2].endswith("on, all lists at one revision of the cluster")


def test_resource_versions_that_are_no_numbers_tell_nothing() -> None:
    opaque = ReadList("Pod", "v1", "", 1, "x-7")
    assert shown(written(LISTS[0], opaque))[2].endswith("on, one list after the other")
    assert written(opaque).revisions_apart is None


def test_the_document_has_every_list() -> None:
    assert [entry.namespace for entry in written(*LISTS).lists] == [
        None, "web", None,
    ]  # fmt: skip


def test_a_recording_says_how_to_ask_about_its_last_part() -> None:
    last = RecordedPart("r.jsonl.1", "r-1.state.json", 1_000, 1, 100, 7_200.0)
    assert shown(recorded(PART, last)) == [
        "recorded 1,012 events of context prod, the connection was lost 1 time",
        "",
        "Parts",
        "TIMELINE STATE AT ITS START EVENTS GAPS LENGTH",
        "r.jsonl r-state.json 12 0 1m",
        "r.jsonl.1 r-1.state.json 1,000 1 2h",
        "",
        "Ask about it",
        "ksched replay r.jsonl.1 --state r-1.state.json",
        "ksched audit --timeline r.jsonl.1",
    ]
