"""Opens the page of every command in a browser: no error, no request, no message on the console,
accessible in light, dark and 400 pixels wide, printed without controls, small, open within two
seconds; and what it shows is what the JSON of the same command says.

--screenshots FOLDER writes four pictures of every page: NAME-light.png, -dark, -print, -narrow; of
a large one two.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Error, Page, sync_playwright

ROOT = Path(__file__).parent.parent
FIRST = "examples/first-cluster/cluster.yaml"
WHAT_IF = "examples/what-if/cluster.yaml"
PREEMPTION = "examples/preemption/cluster.yaml"
EVIL = "<script>alert(1)</script>"
DAY = "examples/replay/day.yaml"
TWO_NODES = ["--state", "examples/replay/cluster.yaml"]
SCALING = ["--autoscaler", "examples/replay/autoscaler.yaml"]
LARGEST = 3_000_000  # bytes
LARGEST_REPLAY = 1_500_000
LARGEST_DRIFT = 5_000_000  # of 30,000 pods, each with three nodes
LARGEST_MAP = 20_000_000  # of 65,000 nodes
LONGEST = 2.0  # seconds until a page is open
MANY_NODES, MANY_PODS = 5_000, 30_000
MOST_NODES, MOST_PODS = 65_000, 30_000
HASH = "5d4f8c7b9d"  # in the names of a ReplicaSet's pods
MODES = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "print": {"color_scheme": "light"},
    "narrow": {"color_scheme": "light", "viewport": {"width": 400, "height": 900}},
}

# A small API server for the commands that read a cluster, until its input is closed.
SERVED = """
import sys
from pathlib import Path
from ksched_cli.testing import node, pod
from tests.live.fake_api_server import ApiServer, write_kubeconfig
nodes = [node(f"n{i}") for i in range(3)]
server = ApiServer([*nodes, *(pod(f"p{i}", node="n0") for i in range(20))])
print(write_kubeconfig(Path(sys.argv[1]), server.url), flush=True)
sys.stdin.read()
server.close()
"""

Check = Callable[[Page, dict[str, Any]], None]


@dataclass(frozen=True)
class Case:
    """A command whose page is opened, and what it must show.

    answers: its exit codes
    largest: size of the page in bytes
    is_large: a small page of the same command is looked at in every mode; this one only as it is
              first opened, and 400 pixels wide
    """

    name: str
    command: list[str]
    check: Check
    answers: tuple[int, ...] = (0, 1)
    largest: int = LARGEST
    is_large: bool = False


def manifest(kind: str, name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": name, **more.pop("metadata", {})}
    if kind == "Pod":
        metadata["namespace"] = "default"
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec, **more}


def node(name: str, cpu: int, zone: str = "x") -> dict[str, Any]:
    amounts = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
    metadata = {"labels": {"topology.kubernetes.io/zone": zone}}
    return manifest("Node", name, {}, metadata=metadata, status={"allocatable": amounts})


def pod(name: str, cpu: str, on: str = "", **status: Any) -> dict[str, Any]:
    requests = {"requests": {"cpu": cpu, "memory": "100Mi"}}
    spec = {"containers": [{"name": "c", "image": "i", "resources": requests}]}
    return manifest("Pod", name, spec | ({"nodeName": on} if on else {}), status=status)


def write(path: Path, objects: list[dict[str, Any]]) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def large_state(folder: Path, node_count: int = MANY_NODES, pod_count: int = MANY_PODS) -> str:
    """Nodes in three zones, and pods of which one of 150 waits."""
    nodes = [node(f"ip-10-{i // 256}-{i % 256}.eu-west-1.compute.internal", (8, 16, 32)[i % 3],
                  f"eu-west-1{'abc'[i % 3]}") for i in range(node_count)]  # fmt: skip
    names = [manifest["metadata"]["name"] for manifest in nodes]
    pods = []
    for i in range(pod_count):
        name = f"service-{i % 300}-{HASH}-{i:05x}"
        waits = i % 150 == 0
        cpu = "40" if waits and i % 300 else f"{100 + 37 * i % 900}m"
        pods.append(pod(name, cpu, "" if waits else names[i * 7 % node_count]))
    return write(folder / f"large-{node_count}.json", [*nodes, *pods])


def week(folder: Path, ksched: str) -> list[str]:
    """Arguments of a replay of a week: 3,000 pods, eight nodes and up to twelve more."""
    template, timeline = folder / "job.yaml", folder / "week.jsonl"
    template.write_text(json.dumps(pod("job", "2500m")))
    state = write(folder / "week.json", [node(f"worker-{i}", 16, "abc"[i % 3]) for i in range(8)])
    groups = [{"name": "burst", "like": "worker-0", "maxSize": 12, "provisioningDelay": "4m"}]
    autoscaler = folder / "groups.json"
    header = {"apiVersion": "ksched/v1", "kind": "Autoscaler", "nodeGroups": groups}
    autoscaler.write_text(json.dumps(header))
    options = ["--pods", "3000", "--days", "7", "--arrivals", "weekly", "--to", str(timeline)]
    subprocess.run([ksched, "timeline", "generate", *options, str(template)], check=True)
    return [str(timeline), "--state", state, "--autoscaler", str(autoscaler)]


# -- what each page must show ----------------------------------------------------------------------


def counter(page: Page, grid: str) -> str:
    return page.locator(f'[data-grid="{grid}"] [role=status]').inner_text()


def first_cells(page: Page, grid: str, index: int, count: int) -> list[str]:
    rows = page.locator(f'[data-grid="{grid}"] tbody tr:not(.spacer)')
    return [rows.nth(i).locator("td").nth(index).inner_text() for i in range(count)]


def tiles(page: Page) -> dict[str, str]:
    names = page.locator(".tile dt").all_inner_texts()
    return dict(zip(names, page.locator(".tile dd").all_inner_texts(), strict=True))


def rows_text(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def schedule(page: Page, document: dict[str, Any]) -> None:
    summary, shown = document["summary"], tiles(page)
    for key in ("placed", "pending"):
        assert shown[key] == f"{summary[key]:,}", (key, shown)
    nodes = len(document["nodes"])
    assert counter(page, "nodes") == rows_text(nodes)
    assert page.locator("#map [role=option]").count() == nodes
    check_filter(page, summary["pending"], summary["placed"])
    check_map(page, document)


def check_filter(page: Page, pending: int, placed: int) -> None:
    """As one types, by a column, and by a header."""
    box = page.get_by_label("Filter table of pods")
    total = int(counter(page, "pods").split()[0].replace(",", ""))
    for state, count in (("pending", pending), ("placed", placed)):
        box.fill(f"state={state}")
        expected = rows_text(count) if count == total else f"{count:,} of {total:,} rows"
        assert counter(page, "pods") == expected, (counter(page, "pods"), expected)
    box.fill("no pod has this name")
    assert counter(page, "pods").startswith("0 of ")
    box.fill("")
    header = page.locator('[data-grid="pods"] th').nth(5)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    page.locator('[data-grid="pods"] th').nth(0).locator("button").click()
    names = first_cells(page, "pods", 0, min(total, 5))
    assert names == sorted(names), names


def check_map(page: Page, document: dict[str, Any]) -> None:
    """Arrow keys walk over the cells; what is on a node shows; a click leads to its pods."""
    listbox = page.locator("#map [role=listbox]")
    # Cells stay where they are while the mouse goes over them.
    for cell in (page.locator("#map [data-row]").last, page.locator("#map [data-row]").first):
        cell.click(timeout=10_000)
        assert cell.get_attribute("aria-selected") == "true"
    listbox.focus()
    first = page.locator("#map h3").inner_text()
    page.keyboard.press("ArrowRight")
    second = page.locator("#map h3").inner_text()
    assert len(document["nodes"]) < 2 or first != second
    page.keyboard.press("Home")
    assert page.locator("#map h3").inner_text() == first
    option = page.locator("#map [role=option][aria-selected=true]")
    assert option.get_attribute("id") == listbox.get_attribute("aria-activedescendant")
    # The ending that all nodes share is shown once, above them.
    usage = next(each for each in document["nodes"] if f"{each['name']}.".startswith(f"{first}."))
    on_it = page.locator("#map .pods li:not(.evicted)").count()
    assert on_it == usage["pods"], (first, on_it, usage["pods"])
    labels = {"before": "", "after": ""}
    for when in labels:
        page.locator("#map").get_by_role("button", name=when).click()
        labels[when] = page.locator("#map [role=listbox]").inner_html()
    changed = any(usage["name"] in document["placements"].values() for usage in document["nodes"])
    assert (labels["before"] != labels["after"]) or not changed
    page.get_by_label("Group by").select_option("nothing")
    assert page.locator("#map [role=group] > [role=presentation]").count() == 1
    if usage["pods"]:
        page.locator("#map .about > button").click()
        assert counter(page, "pods").startswith(f"{usage['pods']:,} of ")


def explain(page: Page, document: dict[str, Any]) -> None:
    assert tiles(page)["fit"] == f"{document['feasible']:,}"
    assert counter(page, "nodes") == rows_text(len(document["nodes"]))
    if len(document["nodes"]) > 5:
        page.get_by_label("Filter every node and plugin").fill("fits=yes")
        shown = counter(page, "nodes")
        assert shown.startswith(f"{document['feasible']:,} "), shown
        page.get_by_label("Filter every node and plugin").fill("")
    nodes = sorted(document["nodes"], key=lambda item: item["node"])
    for scored in (nodes[0], nodes[-1]):
        page.get_by_label("Node", exact=True).fill(scored["node"])
        text = page.locator("#pair").inner_text()
        if scored["total"] is None:
            assert "does not fit" in text, text
            assert scored["rejections"][0]["reasons"][0] in text, text
        else:
            assert f"{scored['total']:,} points" in text, text


def pending(page: Page, document: dict[str, Any]) -> None:
    assert tiles(page)["pending"] == f"{document['summary']['pending']:,}"
    groups = sum(len(document[key]) for key in ("groups", "held", "absent"))
    assert 1 <= page.locator("details.group").count() <= groups
    assert counter(page, "pods") == rows_text(document["summary"]["pending"])


def preempt(page: Page, document: dict[str, Any]) -> None:
    assert tiles(page)["evicted"] == f"{len(document['victims']):,}"
    assert counter(page, "candidates") == rows_text(len(document["candidates"]))
    assert first_cells(page, "candidates", 1, 1) == [document["candidates"][0]["node"]]


def capacity(page: Page, document: dict[str, Any]) -> None:
    least = "at least " if document["stoppedAt"] else ""
    assert tiles(page)["fit"] == f"{least}{document['count']:,}"
    assert counter(page, "nodes") == rows_text(len(document["nodes"]))


def compare(page: Page, document: dict[str, Any]) -> None:
    assert tiles(page)["differ"] == f"{len(document['pods']):,}"
    assert counter(page, "pods") == rows_text(len(document["pods"]))


def shrink(page: Page, document: dict[str, Any]) -> None:
    assert tiles(page)["could go"] == f"{document['removable']:,}"
    assert counter(page, "holds") == rows_text(sum(len(n["heldBy"]) for n in document["nodes"]))


def drift(page: Page, document: dict[str, Any]) -> None:
    assert tiles(page)["running"] == f"{document['summary']['running']:,}"
    assert counter(page, "pods") == rows_text(len(document["pods"]))


def audit(page: Page, document: dict[str, Any]) -> None:
    assert tiles(page)["differ"] == f"{len(document['differ']):,}" != "0"
    assert counter(page, "differ") == rows_text(len(document["differ"]))


def replay(page: Page, document: dict[str, Any]) -> None:
    """The line goes by keys and by the mouse, with its values; dragging zooms; every moment is in a
    table."""
    slider = page.get_by_role("slider").first
    slider.focus()
    page.keyboard.press("Home")
    first = slider.get_attribute("aria-valuetext") or ""
    for key in ("ArrowRight", "PageDown", "End"):
        page.keyboard.press(key)
        text = slider.get_attribute("aria-valuetext") or ""
        assert text not in ("", first), (key, text)
    chart = page.locator(".curve-chart svg").first.bounding_box()
    assert chart is not None
    page.mouse.move(chart["x"] + 300, chart["y"] + 60)
    assert page.locator(".curve-chart .key b").first.inner_text().strip()
    page.mouse.down()
    page.mouse.move(chart["x"] + 500, chart["y"] + 60)
    page.mouse.up()
    reset = page.get_by_role("button", name="Whole time").first
    reset.wait_for(state="visible")
    page.mouse.dblclick(chart["x"] + 400, chart["y"] + 60)
    reset.wait_for(state="hidden")
    page.get_by_text("Every moment as a table").click()
    page.locator(".curves table tbody tr").nth(1).wait_for()
    page.get_by_text("Every moment as a table").click()


def replay_by_node(page: Page, document: dict[str, Any]) -> None:
    """The curves, and a bar for each pod; the bars have another colour by another key, and zoom."""
    bars = page.locator(
        "[data-gantt] svg rect:is(.c0, .c1, .c2, .c3, .c4, .c5, .c6, .c7, .c8, .c9)"
    )
    page.locator("[data-gantt]").scroll_into_view_if_needed()
    bars.first.wait_for()
    placed = sum(each["placed"] is not None for each in document["pods"])
    assert page.locator("[data-gantt] svg rect[class^=c]:not(.wait)").count() == placed
    assert bars.first.locator("title").text_content()
    key = page.locator("[data-gantt]").get_by_label("Colour by")
    owners = page.locator("[data-gantt] .legend").inner_text()
    key.select_option("namespace")
    assert page.locator("[data-gantt] .legend").inner_text() != owners
    slider = page.locator("[data-gantt] [role=slider]")
    slider.focus()
    page.keyboard.press("End")
    assert "run" in (slider.get_attribute("aria-valuetext") or "")
    before = bars.count()
    for _ in range(4):
        page.keyboard.press("+")
    assert bars.count() < before
    page.keyboard.press("Escape")
    assert bars.count() == before


def copies(page: Page, document: dict[str, Any]) -> None:
    """What the filter leaves of a table, as CSV and as Markdown."""
    button = page.get_by_role("button", name="Copy as CSV").first
    button.click()
    page.wait_for_function(
        "document.querySelector('.grid [role=status]').innerText.includes('Copied')"
    )


def nothing_differs(page: Page, document: dict[str, Any]) -> None:
    assert not document["changes"]
    assert page.locator("h1").inner_text().startswith("Nothing differs")


def draws(page: Page, document: dict[str, Any]) -> None:
    assert tiles(page)["seeds"] == f"{len(document['seeds']):,}"
    assert page.locator(".curve-chart .band").count() > 0
    replay(page, document)


def expectations(page: Page, document: dict[str, Any]) -> None:
    assert tiles(page)["passed"] == f"{document['summary']['passed']:,}"
    assert counter(page, "cases") == rows_text(len(document["cases"]))


def sweep(page: Page, document: dict[str, Any]) -> None:
    assert page.locator(".multiples tbody tr").count() == len(document["variants"])
    assert counter(page, "variants") == rows_text(len(document["variants"]))


def snapshot(page: Page, document: dict[str, Any]) -> None:
    objects = sum(each["objects"] for each in document["lists"])
    assert tiles(page)["objects"] == f"{objects:,}" != "0"


def record(page: Page, document: dict[str, Any]) -> None:
    assert page.get_by_role("table", name="Parts").locator("tbody tr").count() >= 1


def drawn_map(page: Page, document: dict[str, Any]) -> None:
    slider = page.locator("#map [role=slider]")
    slider.focus()
    first = page.locator("#map h3").inner_text()
    page.keyboard.press("ArrowDown")
    assert page.locator("#map h3").inner_text() != first
    page.get_by_label("Light up").fill("eu-west-1a")
    count = sum(name % 3 == 0 for name in range(len(document["nodes"])))
    assert f"{count:,} of {len(document['nodes']):,} nodes" in page.locator("#map").inner_text()


def anything(page: Page, document: dict[str, Any]) -> None:
    assert page.locator("h1").inner_text()


def config(page: Page, document: dict[str, Any]) -> None:
    for name, profile in document["profiles"].items():
        section = page.locator("section", has_text=f"Profile {name}").first
        assert section.locator("tbody tr").count() == len(profile)


def validate(page: Page, document: dict[str, Any]) -> None:
    assert page.locator("details.group").count() == len(document["findings"]) > 0
    scheduler = document["kubeScheduler"]
    assert page.get_by_text(scheduler["error"]).count() == (not scheduler["accepts"]) == 1


def evil(page: Page, document: dict[str, Any]) -> None:
    assert f"default/{EVIL}" in document["placements"]
    assert page.evaluate("document.scripts.length") == 2
    page.get_by_label("Filter table of pods").fill("alert(1)")
    assert first_cells(page, "pods", 0, 1) == [f"default/{EVIL}"]


# -- opening them ----------------------------------------------------------------------------------


def cases(folder: Path, ksched: str) -> Iterator[Case]:
    config_file = folder / "wrong.yaml"
    config_file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\nparallelism: -1\n"
    )
    nodes = [node("a", 4), node("b", 8, EVIL)]
    small = [pod(f"p{i}", "100m") for i in range(7)]
    strange = write(folder / "evil.json", [*nodes, *small, pod(EVIL, "1")])
    yield Case("schedule", ["schedule", "--state", FIRST], schedule)
    yield Case("explain", ["explain", "web-1", "--state", FIRST], explain)
    yield Case("explain-nowhere", ["explain", "too-big", "--state", FIRST], explain)
    yield Case("pending", ["explain", "--pending", "--state", FIRST], pending)
    yield Case("preempt", ["preempt", "checkout", "--state", PREEMPTION], preempt)
    yield Case("capacity", ["capacity", "web-1", "--state", FIRST], capacity)
    yield Case(
        "compare", ["compare", "--state", WHAT_IF, "--vs", "--change", "drain node-1"], compare
    )
    yield Case("shrink", ["shrink", "--state", WHAT_IF], shrink)
    yield Case("drift", ["drift", "--state", WHAT_IF], drift)
    yield Case("audit", ["audit", *wrongly_bound(folder, nodes)], audit)
    yield Case("config", ["config", "show"], config)
    yield Case("validate", ["validate", str(config_file)], validate)
    yield Case("evil", ["schedule", "--state", strange], evil)
    yield from lists()
    yield from replays(folder, ksched)
    yield from large_cases(large_state(folder))
    many = large_state(folder, MOST_NODES, MOST_PODS)
    name = f"schedule-{MOST_NODES}"
    command = ["schedule", "--state", many]
    yield Case(name, command, drawn_map, largest=LARGEST_MAP, is_large=True)


def wrongly_bound(folder: Path, nodes: list[dict[str, Any]]) -> list[str]:
    """The options of an audit of a pod that is on the fuller node."""
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"}
    log = folder / "scheduler.log"
    log.write_text('I0101 00:00:01.0 1 x.go:100] "Attempting to schedule pod" pod="default/p"\n')
    before = write(folder / "before.json", [*nodes, pod("p", "2")])
    after = write(folder / "after.json", [*nodes, pod("p", "2", "a", conditions=[bound])])
    return ["--before", before, "--after", after, "--scheduler-log", str(log)]


def lists() -> Iterator[Case]:
    """Pages without a cluster, and those of several runs."""
    default, packing = "examples/what-if/default.yaml", "examples/what-if/packing.yaml"
    yield Case("plugins", ["plugins"], anything)
    yield Case("config-diff", ["config", "diff", default, packing], anything)
    yield Case("config-diff-same", ["config", "diff", default, default], nothing_differs)
    yield Case("config-migrate", ["config", "migrate", packing], anything)
    configurations = sorted(map(str, Path("examples").glob("*/scheduler.yaml")))
    yield Case("validate-many", ["validate", *configurations], copies)
    files = sorted(map(str, Path("examples").glob("*/expectations.yaml")))
    yield Case("test", ["test", *files], expectations)
    yield Case("fix", ["fix", "too-big", "--state", FIRST], anything)
    upgrade = ["shrink", "--upgrade", "-l", "!none", "--state", WHAT_IF]
    yield Case("upgrade", upgrade, anything)
    yield Case(
        "from-now", ["replay", "--from-now", "--state", "examples/replay/queue.yaml"], anything
    )
    drained = ["--vs", "--change", "drain node-1"]
    five = ["compare", "--state", WHAT_IF, "--seeds", "5"]
    yield Case("compare-seeds", [*five, *drained], anything)
    yield Case("sweep", ["sweep", "examples/sweep/sweep.yaml"], sweep)
    yield Case("sweep-replay", ["sweep", "examples/sweep/replay.yaml"], sweep)
    yield Case("sweep-plan", ["sweep", "--dry-run", "examples/sweep/sweep.yaml"], anything)
    yield Case("tune", ["tune", "examples/sweep/waits.yaml"], anything)


def replays(folder: Path, ksched: str) -> Iterator[Case]:
    outage = ["replay", "examples/replay/outage.yaml", "--state", "examples/replay/zones.yaml"]
    yield Case("replay", ["replay", DAY, *TWO_NODES, *SCALING], replay_by_node)
    yield Case("replay-outage", outage, replay)
    yield Case("replay-seeds", ["replay", DAY, *TWO_NODES, "--seeds", "5"], draws)
    sides = ["compare", "--timeline", DAY, *TWO_NODES]
    yield Case("compare-timeline", [*sides, "--vs", *SCALING], replay)
    yield Case("compare-timeline-seeds", [*sides, "--seeds", "5", "--vs", *SCALING], draws)
    arguments = ["replay", *week(folder, ksched)]
    yield Case("replay-week", arguments, replay, largest=LARGEST_REPLAY, is_large=True)


@contextmanager
def cluster(folder: Path, ksched: str) -> Iterator[list[Case]]:
    """The pages of commands that read a cluster, while there is one."""
    command = [str(Path(ksched).with_name("python")), "-c", SERVED, str(folder / "kubeconfig")]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        config = server.stdout.readline().decode().strip()
        recorded = ["--for", "1s", "--kubeconfig", config]
        yield [
            Case(
                "snapshot", ["snapshot", str(folder / "s.json"), "--kubeconfig", config], snapshot
            ),
            Case("record", ["record", str(folder / "r.jsonl"), *recorded], record),
        ]
        server.stdin.close()


def large_cases(large: str) -> Iterator[Case]:
    """Pages about 5,000 nodes and 30,000 pods."""
    waiting, drained = f"service-0-{HASH}-00000", "drain ip-10-0-1.eu-west-1.compute.internal"
    for name, command, check in (
        ("schedule", ["schedule"], schedule),
        ("explain", ["explain", waiting], explain),
        ("pending", ["explain", "--pending"], pending),
        ("capacity", ["capacity", waiting], capacity),
        ("compare", ["compare", "--vs", "--change", drained], compare),
        ("drift", ["drift"], drift),
    ):
        of_state = [command[0], "--state", large, *command[1:]]
        largest = LARGEST_DRIFT if check is drift else LARGEST
        yield Case(f"{name}-5000", of_state, check, largest=largest, is_large=True)


@contextmanager
def warm(folder: Path, ksched: str) -> Iterator[list[str]]:
    """A command that runs ksched as it stands, with its modules imported already."""
    program = [str(Path(ksched).with_name("python")), str(ROOT / ".ci/warm_ksched.py")]
    socket = str(folder / "ksched.socket")
    with subprocess.Popen(
        [*program, "serve", socket, FIRST], cwd=ROOT, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()
        yield [*program, "call", socket]
        server.terminate()


def answer(ksched: list[str], case: Case, form: str) -> str:
    run = subprocess.run(
        [*ksched, *case.command, "-o", form], capture_output=True, text=True, check=False
    )
    assert run.returncode in case.answers, run.stderr
    return run.stdout


def tabs_of(browser: Browser) -> dict[str, Page]:
    """A tab for each mode, in which one page after another is opened: a tab has a process of its
    own, which compiles axe-core once."""
    size = {"viewport": {"width": 1280, "height": 900}}
    return {mode: browser.new_context(**size | fields).new_page() for mode, fields in MODES.items()}


@contextmanager
def opened(page: Page, file: Path) -> Iterator[None]:
    """The page, which must neither complain nor ask for anything."""
    problems: list[str] = []
    hear: dict[Any, Callable[[Any], None]] = {
        "console": lambda message: problems.append(f"console: {message.text}"),
        "pageerror": lambda error: problems.append(f"error: {error}"),
        "dialog": lambda dialog: problems.append(f"dialog: {dialog.message}"),
        "request": lambda request: (
            None
            if request.url in (file.as_uri(), "data:,")
            else problems.append(f"request: {request.url}")
        ),
    }
    for event, listener in hear.items():
        page.on(event, listener)
    page.mouse.move(0, 0)  # where it was left it would point at something of the next page
    try:
        page.goto(file.as_uri())
        yield
    finally:
        for event, listener in hear.items():
            page.remove_listener(event, listener)
    assert not problems, problems


def violations(page: Page) -> list[str]:
    items = Axe().run(page).response["violations"]
    return [f"{item['id']}: {item['nodes'][0]['html'][:160]}" for item in items]


def picture(page: Page, name: str, mode: str, folder: Path | None) -> None:
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{name}-{mode}.png", full_page=True)


def check(
    tabs: dict[str, Page], case: Case, ksched: list[str], folder: Path, pictures: Path | None
) -> None:
    file = folder / f"{case.name}.html"
    file.write_text(answer(ksched, case, "html"))
    document = json.loads(answer(ksched, case, "json"))
    size = file.stat().st_size
    assert size < case.largest, size
    start = time.monotonic()
    page = tabs["light"]
    with opened(page, file):
        seconds = time.monotonic() - start
        assert seconds < LONGEST, f"open after {seconds:.1f} s"
        picture(page, case.name, "light", pictures)
        case.check(page, document)
        assert not violations(page), violations(page)
    for mode in ("narrow",) if case.is_large else ("dark", "narrow"):
        page = tabs[mode]
        with opened(page, file):
            if not case.is_large:
                assert not violations(page), (mode, violations(page))
            width = page.evaluate("document.documentElement.scrollWidth")
            assert mode != "narrow" or width <= MODES[mode]["viewport"]["width"], width
            picture(page, case.name, mode, pictures)
    if case.is_large:
        print(f"{case.name}: {size:,} bytes, opened in {seconds:.2f} s", flush=True)
        return
    page = tabs["print"]
    page.emulate_media(media="screen")
    with opened(page, file):
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("nav:visible, input:visible, #theme:visible").count() == 0
        for bar in page.locator("main rect.c1").all()[:1]:
            assert "#p1" in bar.evaluate("bar => getComputedStyle(bar).fill")
        for line in page.locator(".curve.k1").all()[:1]:
            assert line.evaluate("line => getComputedStyle(line).strokeDasharray") != "none"
        picture(page, case.name, "print", pictures)
    print(f"{case.name}: {size:,} bytes, opened in {seconds:.2f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ksched", default=str(ROOT / ".venv/bin/ksched"))
    parser.add_argument("--browser", default="/usr/bin/chromium")
    parser.add_argument("--screenshots", type=Path)
    parser.add_argument("names", nargs="*", help="of pages; all without")
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(
            executable_path=arguments.browser, args=["--no-sandbox"]
        )
        tabs = tabs_of(browser)
        with warm(folder, arguments.ksched) as ksched, cluster(folder, arguments.ksched) as live:
            for case in chain(live, cases(folder, arguments.ksched)):
                if arguments.names and case.name not in arguments.names:
                    continue
                try:
                    check(tabs, case, ksched, folder, arguments.screenshots)
                except (AssertionError, Error) as error:
                    failures += 1
                    reason = str(error) or "a check failed"
                    print(f"{case.name}: {reason}", file=sys.stderr, flush=True)
        browser.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
