"""Uses `ksched serve page` in a browser: a pod's request is edited, a weight moved, a node drained,
undone, and the link opened anew; a state is dropped, a node of the map drained, a pod asked why it
is not there, objects made of templates, files saved; what is shown is what the JSON says. No
message on the console, no request to elsewhere, accessible in light and dark and 400 pixels wide;
5,000 nodes are answered in time.

--screenshots FOLDER keeps pictures: workbench-NAME-light.png, -dark, -narrow.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from html_pages import MODES, ROOT, WHAT_IF, large_state, node, pod, write
from playwright.sync_api import Browser, Frame, FrameLocator, Page, sync_playwright

EVIL = "<script>alert(1)</script>"
# Seconds of the server's processor time for a change, of 1,000 and of 5,000 nodes: several times
# what it takes, because neighbours on the cores make it more. What the clock says is printed.
LONGEST_1000, LONGEST_5000 = 2.0, 8.0
PATIENCE_MS = 300_000
WIDTHS = {"light": (1400, 900), "dark": (1400, 900), "narrow": (400, 900)}


@contextmanager
def served(ksched: str, state: str) -> Iterator[str]:
    """The address that the command prints."""
    line = [ksched, "serve", "page", "--state", state]
    process = subprocess.Popen(line, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        texts = iter(process.stderr.readline, "")
        yield next(match[1] for text in texts if (match := re.match(r"(http\S+)$", text)))
    finally:
        process.terminate()
        assert process.wait(100) == 0


@contextmanager
def opened(browser: Browser, url: str, mode: str) -> Iterator[Page]:
    """The workbench, which must neither complain nor ask anybody else."""
    width, height = WIDTHS[mode]
    context = browser.new_context(
        **{**MODES[mode], "viewport": {"width": width, "height": height}},
        permissions=["clipboard-read", "clipboard-write"],
    )
    page = context.new_page()
    problems: list[str] = []
    own = urlsplit(url).netloc
    # Chromium notes that what a person typed was refused.
    page.on(
        "console",
        lambda message: (
            None if "status of 422" in message.text else problems.append(f"console: {message.text}")
        ),
    )
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
    page.on(
        "request",
        lambda request: (
            None
            if urlsplit(request.url).netloc in (own, "")
            else problems.append(f"request: {request.url}")
        ),
    )
    page.goto(url)
    answered(page)
    yield page
    context.close()
    assert not problems, problems


def answered(page: Page, text: str = "Answered in") -> float:
    """Waits for an answer; how many seconds it took, as the workbench says."""
    status = page.locator("#status", has_text=text)
    status.wait_for(timeout=PATIENCE_MS)
    page.locator("#answer:not([aria-busy])").wait_for(timeout=PATIENCE_MS)
    match = re.search(r"Answered in ([\d.]+) s", status.inner_text())
    return float(match[1]) if match else 0.0


def frame(page: Page) -> Frame:
    (inside,) = page.frames[1:]
    return inside


def document(page: Page) -> dict[str, Any]:
    """The answer to `schedule` of the Run that is shown, as JSON."""
    digest = page.url.partition("#run=")[2]
    response = page.request.get(f"{page.url.partition('/#')[0]}/answers/{digest}/schedule.json")
    answer: dict[str, Any] = json.loads(response.body())
    return answer


def check_accessible(page: Page) -> None:
    items = [
        f"{item['id']}: {item['nodes'][0]['html'][:160]}"
        for each in page.frames
        for item in Axe().run(each).response["violations"]
    ]
    assert not items, items


def picture(page: Page, name: str, mode: str, folder: Path | None) -> None:
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"workbench-{name}-{mode}.png")


def change(page: Page, line: str) -> float:
    page.get_by_label("Change, as kubectl takes it").fill(line)
    page.evaluate("document.getElementById('status').textContent = ''")
    page.get_by_role("button", name="Add").click()
    return answered(page)


def choose(page: Page, search: str, name: str) -> None:
    """An object by its name, with the keyboard."""
    page.get_by_label("Search").fill(search)
    item = page.locator("#tree").get_by_role("button", name=name, exact=True)
    item.wait_for()
    item.focus()
    page.keyboard.press("Enter")
    page.locator("#object-name", has_text=name).wait_for()


def work(page: Page, mode: str, pictures: Path | None) -> None:
    """A session as a person has it."""
    edit_request(page)
    picture(page, "edited", mode, pictures)
    move_weight(page)
    weighted = page.url
    change(page, "drain node-1")
    page.get_by_role("button", name="Compared with before").click()
    shown(page, "Compared").locator("h1", has_text="move").wait_for()
    answered(page)
    picture(page, "compared", mode, pictures)
    check_accessible(page)
    click_pod(page)
    picture(page, "explained", mode, pictures)
    page.get_by_role("button", name="Schedule").click()
    shown(page, "Schedule")
    undo(page, weighted)
    open_link(page)
    check_wrong(page)
    picture(page, "findings", mode, pictures)
    check_accessible(page)


def shown(page: Page, question: str) -> FrameLocator:
    """The page of an answer, which is visible."""
    selector = f'iframe[title^="{question}"]:not(.loading)'
    page.locator(selector).wait_for()
    return page.frame_locator(selector)


def edit_request(page: Page) -> None:
    waiting = document(page)["pending"][0].partition("/")[2]
    choose(page, f"{waiting} pending", waiting)
    box = page.get_by_label("YAML")
    smaller = re.sub(r"cpu: \S+", "cpu: 10m", box.input_value())
    box.fill(re.sub(r"memory: \S+", "memory: 1Mi", smaller))
    page.locator("#apply").click()
    page.locator("#changes li", has_text=f"patch pod/{waiting}").wait_for()
    answered(page)
    edited = document(page)
    assert f"default/{waiting}" in edited["placements"]
    assert str(edited["summary"]["placed"]) in frame(page).locator(".tile dd").first.inner_text()


def move_weight(page: Page) -> None:
    page.locator("summary", has_text="Weights").click()
    slider = page.get_by_label("NodeResourcesFit", exact=True)
    before = page.url
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: url != before)
    answered(page)
    assert slider.evaluate("slider => slider.nextElementSibling.value") == "5"
    page.locator("summary", has_text="Configuration").click()
    text = page.get_by_label("KubeSchedulerConfiguration").input_value()
    assert "weight: 5" in text, text


def click_pod(page: Page) -> None:
    """Why it goes where it goes; then its workload's folder."""
    cell = frame(page).locator('[data-grid="pods"] tbody td:first-child').first
    name = cell.inner_text()
    cell.click()
    shown(page, "Explain").locator("h1", has_text=name).wait_for()
    answered(page)
    page.get_by_label("Search").fill("")
    page.locator("#tree summary", has_text="default").click()
    page.locator("#tree summary", has_text="Job/friday").click()
    page.locator("#tree").get_by_role("button", name="friday-1").wait_for()
    check_accessible(page)


def undo(page: Page, weighted: str) -> None:
    drained = page.url
    for label, expected in (("Undo", weighted), ("Redo", drained), ("Undo", weighted)):
        page.get_by_role("button", name=label).click()
        page.wait_for_url(expected)
        answered(page)


def open_link(page: Page) -> None:
    """The link in another tab."""
    page.get_by_role("button", name="Copy link").click()
    answered(page, "The link is copied")
    other = page.context.new_page()
    other.goto(page.evaluate("navigator.clipboard.readText()"))
    answered(other)
    assert document(other)["placements"] == document(page)["placements"]
    assert other.locator("#changes li").count() == 1
    other.close()


def check_wrong(page: Page) -> None:
    """What is wrong is said, and the answer before it stays."""
    url = page.url
    page.get_by_label("Change, as kubectl takes it").fill("drain nowhere")
    page.get_by_role("button", name="Add").click()
    alert = page.get_by_role("alert")
    alert.get_by_text("nowhere").wait_for()
    assert page.url == url
    page.get_by_role("button", name="Copy the message").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == alert.inner_text()
    box = page.get_by_label("KubeSchedulerConfiguration")
    box.fill(box.input_value() + "parallelism: -1\n")
    page.locator("#findings .error", has_text="parallelism").wait_for()
    assert page.locator("#lines .error").count() == 1
    page.locator("#findings").get_by_role("button", name="Copy").click()
    page.locator("#findings").get_by_role("button", name="Copied").wait_for()
    page.locator("#findings").get_by_role("button").first.click()
    assert box.evaluate("box => box.value.slice(box.selectionStart, box.selectionEnd)")


def work_on_dropped(page: Page, mode: str, folder: Path, pictures: Path | None) -> None:
    """Another state, from a file to its export."""
    drop_state(page, folder)
    first = document(page)
    picture(page, "dropped", mode, pictures)
    if mode == "narrow":
        page.locator("summary", has_text="Objects").click()
    add_template(page, "Pod", "new-pod")
    add_template(page, "Node", "new-node")
    picture(page, "templates", mode, pictures)
    assert "default/new-pod" in document(page)["placements"]
    act_on_node(page, mode, pictures)
    page.get_by_role("button", name="Compared with the start").click()
    shown(page, "Compared with the start").locator("h1").wait_for()
    answered(page)
    picture(page, "start", mode, pictures)
    check_accessible(page)
    save(page, folder, mode, pictures)
    page.get_by_role("button", name="Schedule").click()
    shown(page, "Schedule")
    reset(page, first)


def drop_state(page: Page, folder: Path) -> None:
    """A file on the page, one on the answer, and one that is chosen; wrong ones change nothing."""
    before, source = page.url, page.locator("#source").inner_text()
    wrong = folder / "photo.png"
    wrong.write_bytes(bytes(range(256)))
    for files, message in (([wrong], "photo.png"), ([wrong, wrong], "drop one file")):
        drop(page.main_frame, files)
        page.get_by_role("alert").get_by_text(message).wait_for()
        page.locator("#answer:not([aria-busy])").wait_for()
        assert page.url == before
        assert page.locator("#source").inner_text() == source
    states = [
        write(folder / f"{name}.json", [node(f"{name}-{i}", 4) for i in range(3)] + pods)
        for name, pods in {
            "first": [pod("a", "1")],
            "second": [pod("a", "1")],
            "oaks": [pod("p", "1"), pod("q", "1", "oaks-1"), pod("large", "40")],
        }.items()
    ]
    for path, is_inside in zip(states[:2], (False, True), strict=True):
        drop(frame(page) if is_inside else page.main_frame, [Path(path)])
        page.locator("#source", has_text=Path(path).name).wait_for()
        answered(page)
    page.locator("#file").set_input_files(states[2])
    page.locator("#source", has_text="oaks.json").wait_for()
    answered(page)
    assert document(page)["pending"] == ["default/large"]


def drop(target: Frame, files: list[Path]) -> None:
    """As a person drops files there."""
    target.evaluate(
        """files => {
          const data = new DataTransfer();
          for (const [name, text] of files) {
            data.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
          }
          for (const type of ["dragover", "drop"]) {
            const fields = { dataTransfer: data, bubbles: true, cancelable: true };
            const event = new DragEvent(type, fields);
            document.body.dispatchEvent(event);
            if (!event.defaultPrevented) throw new Error("the browser would open the file");
          }
        }""",
        [[path.name, b64encode(path.read_bytes()).decode()] for path in files],
    )


def add_template(page: Page, kind: str, name: str) -> None:
    page.get_by_role("button", name=f"New {kind}", exact=True).click()
    assert f"name: {name}" in page.get_by_label("YAML").input_value()
    page.get_by_role("button", name="Copy", exact=True).click()
    assert page.evaluate("navigator.clipboard.readText()").startswith("apiVersion")
    page.locator("#apply").click()
    page.locator("#changes li", has_text=name).wait_for()
    page.locator("#tree").get_by_role("button", name=name, exact=True).wait_for()
    answered(page)


def act_on_node(page: Page, mode: str, pictures: Path | None) -> None:
    """From the map: cordon, why not here, drain, undo."""

    def point(name: str) -> None:
        frame(page).locator("#map [data-row]", has_text=name).click()
        page.locator("#object-name", has_text=name).wait_for()

    point("oaks-1")
    page.locator("#actions").get_by_role("button", name="Cordon", exact=True).click()
    page.locator("#changes li", has_text="cordon oaks-1").wait_for()
    answered(page)
    frame(page).locator("#map .cell.cordoned", has_text="oaks-1").wait_for()
    picture(page, "cordoned", mode, pictures)
    page.get_by_label("Pod", exact=True).fill("default/p")
    point("oaks-1")
    page.locator("#actions").get_by_role("button", name="Why not here").click()
    inside = shown(page, "Explain")
    inside.locator("h1", has_text="default/p").wait_for()
    answered(page)
    inside.locator('[data-grid="nodes"] tr', has_text="oaks-1").first.wait_for()
    picture(page, "why-not", mode, pictures)
    check_accessible(page)
    cordoned = page.url
    page.get_by_role("button", name="Schedule").click()
    shown(page, "Schedule")
    answered(page)
    point("oaks-1")
    page.locator("#actions").get_by_role("button", name="Drain").click()
    page.locator("#changes li", has_text="drain oaks-1").wait_for()
    answered(page)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(cordoned)
    answered(page)


def save(page: Page, folder: Path, mode: str, pictures: Path | None) -> None:
    """The files are below the buttons, and cover nothing."""
    page.get_by_role("button", name="Save").click()
    link = page.get_by_role("link", name="scenario.yaml")
    link.wait_for()
    picture(page, "save", mode, pictures)
    boxes = [page.locator(name).bounding_box() for name in ("#exports", "#status", "#answer")]
    assert all(boxes)
    exports, status, answer = (box for box in boxes if box)
    assert exports["y"] + exports["height"] <= min(status["y"], answer["y"]) + 1
    with page.expect_download() as download:
        link.click()
    path = folder / "scenario.yaml"
    download.value.save_as(path)
    assert "cordon oaks-1" in path.read_text()
    page.keyboard.press("Escape")
    page.locator("#exports").wait_for(state="hidden")


def reset(page: Page, first: dict[str, Any]) -> None:
    """To the dropped state without edits; there is nothing to compare with then."""
    page.get_by_role("button", name="Reset").click()
    page.locator("#changes li").first.wait_for(state="detached")
    answered(page)
    page.locator("#tree", has_text="nothing has this name").wait_for()
    assert document(page) == first
    assert page.get_by_role("button", name="Compared with the start").is_disabled()


def check_themes(page: Page) -> None:
    """The button changes the answer's page, too."""
    inside = "getComputedStyle(document.body).backgroundColor"
    before = frame(page).evaluate(inside)
    page.locator("#theme").click()
    assert frame(page).evaluate(inside) != before
    assert frame(page).evaluate(inside) == page.evaluate(inside)


def processor_seconds() -> float:
    """Those of the servers that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def check_large(browser: Browser, ksched: str, state: str, longest: float) -> str:
    """How long things take, as a line."""
    drained = "ip-10-0-1.eu-west-1.compute.internal"
    spent = []
    for lines in ((), (f"drain {drained}", f"uncordon {drained}", f"cordon {drained}")):
        before = processor_seconds()
        with served(ksched, state) as url:
            start = time.monotonic()
            with opened(browser, url, "light") as page:
                begun = time.monotonic() - start
                clock = [change(page, line) for line in lines]
                choose(page, drained, drained)
        spent.append(processor_seconds() - before)
    each = (spent[1] - spent[0]) / len(clock)
    assert each < longest, each
    seconds = ", ".join(f"{value:.1f}" for value in clock)
    return f"open {begun:.1f} s, changes {seconds} s, {each:.2f} s of processor time each"


def check_narrow(browser: Browser, ksched: str, folder: Path, pictures: Path | None) -> None:
    """400 pixels wide, with names of a stranger's."""
    state = write(folder / "evil.json", [node("n", 4, EVIL), pod(EVIL, "1")])
    with served(ksched, state) as url, opened(browser, url, "narrow") as page:
        page.locator("summary", has_text="Objects").click()
        choose(page, "script", EVIL)
        assert page.evaluate("document.scripts.length") == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS["narrow"][0]
        check_accessible(page)
        picture(page, "objects", "narrow", pictures)
        page.locator("#object").get_by_role("button", name="Explain").click()
        shown(page, "Explain").locator("h1", has_text=EVIL).wait_for()
        answered(page)
        page.locator("#frame").scroll_into_view_if_needed()
        picture(page, "explained", "narrow", pictures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ksched", default=str(ROOT / ".venv/bin/ksched"))
    parser.add_argument("--browser", default="/usr/bin/chromium")
    parser.add_argument("--screenshots", type=Path)
    arguments = parser.parse_args()
    ksched, pictures = arguments.ksched, arguments.screenshots
    os.environ.pop("KSCHED_STATE", None)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=arguments.browser, args=["--no-sandbox"]
        )
        for mode in ("light", "dark"):
            with served(ksched, WHAT_IF) as url, opened(browser, url, mode) as page:
                check_accessible(page)
                work(page, mode, pictures)
                check_themes(page)
            print(f"workbench, {mode}: as expected", flush=True)
        for mode in WIDTHS:
            with served(ksched, WHAT_IF) as url, opened(browser, url, mode) as page:
                work_on_dropped(page, mode, Path(name), pictures)
                assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[mode][0]
            print(f"workbench, {mode}: a dropped state as expected", flush=True)
        check_narrow(browser, ksched, Path(name), pictures)
        print("workbench, 400 pixels wide: as expected", flush=True)
        for count, longest in ((1_000, LONGEST_1000), (5_000, LONGEST_5000)):
            state = large_state(Path(name), count, 6 * count)
            line = check_large(browser, ksched, state, longest)
            print(f"workbench, {count:,} nodes: {line}", flush=True)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
