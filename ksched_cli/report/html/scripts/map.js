// -- the map of nodes ---------------------------------------------------------------------------

const LARGE = 40, MEDIUM = 400, SMALL = 2000; // up to so many nodes have cells of that size
const PITCH = { medium: 22, small: 14, tiny: 11 }; // of a cell and the gap beside it
const ZONE_GAP = 22, ZONE_HEAD = 36;
const PODS_SHOWN = 200;

class NodeMap {
  constructor(host, map) {
    this.map = map;
    this.names = map.names;
    this.resources = map.resources.map((resource) => ({
      ...resource,
      allocatable: readerOf(resource.allocatable),
      before: readerOf(resource.before),
      after: readerOf(resource.after),
    }));
    this.taints = readerOf(map.taints);
    this.resource = 0;
    this.when = "after";
    this.selected = -1;
    this.build(host);
    this.group();
  }

  build(host) {
    const sizes = [["large", LARGE], ["medium", MEDIUM], ["small", SMALL], ["tiny", Infinity]];
    const size = sizes.find(([, most]) => this.names.length <= most)[0];
    this.size = size;
    const resource = element("select", {}, ...this.resources.map((r) => element("option", {}, r.name)));
    resource.addEventListener("change", () => { this.resource = resource.selectedIndex; this.paint(); });
    this.label = element(
      "select", {},
      ...this.map.labels.map((label) => element("option", {}, label.key)),
      element("option", {}, "nothing"),
    );
    this.label.addEventListener("change", () => this.group());
    this.list = element("div", {
      role: "listbox", tabindex: 0, class: size,
      "aria-label": host.dataset.label + ", one cell each; arrow keys move, the text above tells",
    });
    this.about = element("div", { class: "about", role: "status" });
    this.legend = element("p", { class: "legend", "aria-hidden": "true" });
    replaceChildren(
      host,
      element(
        "div", { class: "controls" },
        labelled("Colour by", resource), labelled("Group by", this.label), this.choice(),
      ),
      this.legend, this.about, this.list,
    );
    this.drawLegend();
    this.listen();
  }

  choice() {
    const buttons = ["before", "after"].map((when) => {
      const button = element("button", { type: "button", "aria-pressed": String(when === this.when) }, when);
      button.addEventListener("click", () => {
        this.when = when;
        buttons.forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
        this.paint();
      });
      return button;
    });
    return element("div", { class: "choice", role: "group", "aria-label": "Before or after the run" }, ...buttons);
  }

  drawLegend() {
    const cells = [...Array(11).keys()].map((level) => element("span", { class: "cell l" + level }));
    replaceChildren(
      this.legend, "nothing requested ", ...cells, " all of it  ",
      element("span", { class: "cell over" }), " more than it has  ",
      element("span", { class: "cell none" }), " has none",
    );
  }

  listen() {
    const rowOf = (event) => {
      const cell = event.target.closest && event.target.closest("[data-row]");
      return cell ? Number(cell.dataset.row) : -1;
    };
    this.list.addEventListener("click", (event) => { const row = rowOf(event); if (row >= 0) this.select(row); });
    this.list.addEventListener("pointerover", (event) => { const row = rowOf(event); if (row >= 0) this.describe(row); });
    this.list.addEventListener("pointerleave", () => this.describe(this.selected));
    this.list.addEventListener("focus", () => { if (this.selected < 0 && this.order.length) this.select(this.order[0]); });
    this.list.addEventListener("keydown", (event) => {
      const place = this.order.indexOf(this.selected);
      const next = this.moved(event.key, place);
      if (next === null) return;
      event.preventDefault();
      this.select(this.order[Math.max(0, Math.min(this.order.length - 1, next))]);
    });
  }

  moved(key, place) {
    switch (key) {
      case "ArrowRight": return place + 1;
      case "ArrowLeft": return place - 1;
      case "Home": return 0;
      case "End": return this.order.length - 1;
      case "ArrowDown": return this.beside(place, 1);
      case "ArrowUp": return this.beside(place, -1);
      default: return null;
    }
  }

  // The place of the cell nearest to it in the row below (1) or above (-1).
  beside(place, step) {
    const start = this.cells[this.order[place]].getBoundingClientRect();
    let best = place, bestAway = Infinity, line = null;
    for (let next = place + step; next >= 0 && next < this.order.length; next += step) {
      const box = this.cells[this.order[next]].getBoundingClientRect();
      if ((box.top - start.top) * step < 1) continue;
      if (line === null) line = box.top;
      if ((box.top - line) * step > 1) break;
      const away = Math.abs(box.left - start.left);
      if (away < bestAway) { best = next; bestAway = away; }
    }
    return best;
  }

  group() {
    const label = this.map.labels[this.label.selectedIndex];
    const groups = new Map();
    const value = label ? readerOf(label) : () => "";
    this.names.forEach((_, row) => {
      const name = value(row);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(row);
    });
    this.cells = new Array(this.names.length);
    this.order = [];
    const ordered = [...groups].sort(([a], [b]) => (a === "") - (b === "") || collator.compare(a, b));
    const blocks = ordered.map(([name, rows]) => {
      const text = label ? (name || "without this label") + ", " + count(rows.length) : "all " + count(rows.length);
      rows.forEach((row) => {
        this.cells[row] = element("span", { role: "option", id: "n" + row, "data-row": row, "aria-selected": "false" });
        this.order.push(row);
      });
      const cells = element("div", { class: "cells", role: "presentation" }, ...rows.map((row) => this.cells[row]));
      return element(
        "div", { class: "zone", role: "group", "aria-label": text },
        element("p", { "aria-hidden": "true" }, text), cells,
      );
    });
    replaceChildren(this.list, ...blocks);
    this.limitWidth(ordered);
    this.paint();
    if (this.selected >= 0) this.mark(this.selected);
    this.describe(this.selected);
  }

  // As many groups beside each other as make the map lowest.
  limitWidth(groups) {
    const pitch = PITCH[this.size];
    if (!pitch) return;
    const width = this.list.clientWidth || 1000;
    const most = Math.max(...groups.map(([, rows]) => rows.length));
    let best = null;
    for (let beside = 1; beside <= groups.length; beside++) {
      const cells = Math.floor((width / beside - ZONE_GAP) / pitch);
      if (cells < Math.min(most, 6)) break;
      const height = Math.ceil(groups.length / beside) * (Math.ceil(most / cells) * pitch + ZONE_HEAD);
      if (!best || height < best.height) best = { height, cells };
    }
    if (!best) return;
    this.list.querySelectorAll(".cells").forEach((cells) => { cells.style.width = best.cells * pitch + "px"; });
  }

  share(resource, row, when) {
    const allocatable = resource.allocatable(row);
    return allocatable > 0 ? resource[when](row) / allocatable : null;
  }

  paint() {
    const resource = this.resources[this.resource];
    this.cells.forEach((cell, row) => {
      const share = this.share(resource, row, this.when);
      const level = share === null ? "none" : share > 1 ? "over" : "l" + Math.ceil(share * 10);
      cell.className = "cell " + level;
      const text = share === null ? "no " + resource.name : percent(share);
      cell.setAttribute("aria-label", this.names[row] + ", " + resource.name + " " + text);
      if (this.size === "large") replaceChildren(cell, element("b", {}, this.names[row]), resource.name + " " + text);
    });
  }

  mark(row) {
    const cell = this.cells[row];
    cell.setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", cell.id);
  }

  select(row) {
    if (this.selected >= 0) this.cells[this.selected].setAttribute("aria-selected", "false");
    this.selected = row;
    this.mark(row);
    this.describe(row);
  }

  podsOn(name) {
    const grid = grids.pods;
    if (!grid) return [];
    if (!this.index) {
      this.index = new Map();
      const node = grid.readers[2];
      for (let row = 0; row < grid.length; row++) {
        const key = node(row);
        if (!this.index.has(key)) this.index.set(key, []);
        this.index.get(key).push(row);
      }
    }
    return this.index.get(name) || [];
  }

  describe(row) {
    if (row < 0) {
      replaceChildren(this.about, element("p", { class: "note" }, "Point at a node, or walk with the arrow keys, to see what is on it."));
      return;
    }
    const labels = this.map.labels.slice(0, 3).map((label) => readerOf(label)(row)).filter((value) => value);
    const notes = [...labels, this.taints(row)].filter((text) => text).join(" \u00b7 ");
    const meters = this.resources.filter((resource) => resource.allocatable(row) > 0).map((resource) => {
      const before = this.share(resource, row, "before"), after = this.share(resource, row, "after");
      const format = FORMATS[resource.kind];
      const change = before === after ? "" : ", before " + percent(before);
      return element(
        "span", {}, element("b", {}, resource.name + " " + percent(after)), change + " (" +
        format(resource.after(row)) + " of " + format(resource.allocatable(row)) + ")",
      );
    });
    const name = this.names[row], pods = this.podsOn(name);
    replaceChildren(
      this.about, element("h3", {}, name), element("p", { class: "note" }, notes || "no taints"),
      element("p", { class: "meters" }, ...meters), this.podList(pods), ...this.more(name, pods),
    );
  }

  podList(pods) {
    const grid = grids.pods;
    const rank = { placed: 0, evicted: 1 };
    const state = grid ? grid.readers[1] : null;
    const items = [...pods].sort((a, b) => (rank[state(a)] ?? 2) - (rank[state(b)] ?? 2) || a - b)
      .slice(0, PODS_SHOWN).map((pod) => {
        const standing = state(pod);
        const text = grid.readers[0](pod) + (standing === "running" ? "" : " \u2013 " + standing);
        return element("li", { class: standing }, text);
      });
    return items.length ? element("ul", { class: "pods", tabindex: 0, "aria-label": "Pods" }, ...items) : element("p", {}, "no pods");
  }

  more(name, pods) {
    if (!pods.length) return [];
    const button = element("button", { type: "button" }, pods.length === 1 ? "Its pod in the table" : "Its " + count(pods.length) + " pods in the table");
    button.addEventListener("click", () => {
      grids.pods.filter("node=" + name);
      grids.pods.input.scrollIntoView({ block: "start" });
      grids.pods.input.focus();
    });
    return [button];
  }
}
