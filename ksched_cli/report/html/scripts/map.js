// -- the map of nodes ---------------------------------------------------------------------------

const ROOMY = 12, LARGE = 40, MEDIUM = 400, SMALL = 2000; // up to so many nodes have cells of that size
const PITCH = { medium: 22, small: 14, tiny: 11 }; // of a cell and the gap beside it
const DRAWN = 8000, DOT = 5, DOT_PITCH = 6; // more nodes than that are drawn, a dot each
const ZONE_GAP = 22, ZONE_HEAD = 36;
const PODS_SHOWN = 200;

// The mark of a node that takes no ordinary pods.
const stateClass = (why) => (why === "cordoned" || why === "control plane" ? why.replace(" ", "-") : why.endsWith("-pressure") ? "pressed" : "ailing");

class NodeMap {
  constructor(host, map) {
    this.map = map;
    this.names = map.names;
    this.resources = map.resources.map((resource) => ({
      ...resource,
      allocatable: readerOf(resource.allocatable),
      views: resource.views.map(readerOf),
    }));
    this.taints = readerOf(map.taints);
    this.apart = map.apart.map(readerOf);
    this.resource = 0;
    this.view = map.views.length - 1;
    this.lit = null;
    this.selected = -1;
    this.build(host);
    this.group();
  }

  build(host) {
    const sizes = [["large roomy", ROOMY], ["large", LARGE], ["medium", MEDIUM], ["small", SMALL], ["tiny", Infinity]];
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
    this.search = element("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "node, label, pod or owner" });
    this.search.addEventListener("input", () => this.light());
    this.lights = element("p", { class: "note", role: "status" });
    this.list = element("div", {
      role: "listbox", tabindex: 0, class: size,
      "aria-label": host.dataset.label + ", one cell each; arrow keys move, the text above tells",
    });
    this.about = element("div", { class: "about", role: "status", tabindex: 0 });
    this.legend = element("p", { class: "legend", "aria-hidden": "true" });
    replaceChildren(
      host,
      element(
        "div", { class: "controls" },
        labelled("Colour by", resource), labelled("Group by", this.label), this.choice(), labelled("Light up", this.search),
      ),
      this.legend, this.about, this.lights, this.list,
    );
    this.drawLegend();
    this.listen();
  }

  choice() {
    const buttons = this.map.views.map((name, view) => {
      const button = element("button", { type: "button", "aria-pressed": String(view === this.view) }, name);
      button.addEventListener("click", () => {
        this.view = view;
        this.drawLegend();
        buttons.forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
        this.paint();
        this.describe(this.selected);
      });
      return button;
    });
    return element("div", { class: "choice", role: "group", "aria-label": "Which run" }, ...buttons);
  }

  drawLegend() {
    const cells = [...Array(11).keys()].map((level) => element("span", { class: "cell l" + level }));
    replaceChildren(
      this.legend, "nothing requested ", ...cells, " all of it  ",
      element("span", { class: "cell over" }), " more than it has  ",
      element("span", { class: "cell none" }), " has none, or is not there",
      ...this.states(),
      ...(this.map.nodeColumns.length > 1
        ? ["  ", element("span", { class: "cell came" }), " pods come  ", element("span", { class: "cell went" }), " pods only leave"]
        : []),
    );
  }

  // Why nodes take no ordinary pods, and how many there are, as keys of the legend.
  states() {
    const counts = new Map();
    this.names.forEach((_, row) => {
      const why = this.apart[this.view](row);
      if (why) counts.set(why, (counts.get(why) || 0) + 1);
    });
    return [...counts].sort(([a], [b]) => collator.compare(a, b)).flatMap(([why, number]) =>
      ["  ", element("span", { class: "cell l1 " + stateClass(why) }), " " + why + ", " + count(number)]);
  }

  listen() {
    const rowOf = (event) => this.rowOf(event);
    this.list.addEventListener("click", (event) => {
      const row = rowOf(event);
      if (row < 0) return;
      this.select(row);
      // The workbench, which frames the page, shows what can be done with the node.
      this.list.dispatchEvent(new CustomEvent("node", { bubbles: true, detail: this.names[row] }));
    });
    this.list.addEventListener(this.names.length > DRAWN ? "pointermove" : "pointerover", (event) => { const row = rowOf(event); if (row >= 0) this.describe(row); });
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

  rowOf(event) {
    const cell = event.target.closest && event.target.closest("[data-row]");
    return cell ? Number(cell.dataset.row) : -1;
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

  // The rows of each value of the label, nodes without it last.
  groups() {
    const label = this.map.labels[this.label.selectedIndex];
    const groups = new Map();
    const value = label ? readerOf(label) : () => "";
    this.names.forEach((_, row) => {
      const name = value(row);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(row);
    });
    return [...groups].sort(([a], [b]) => (a === "") - (b === "") || collator.compare(a, b));
  }

  groupText(name, rows) {
    const label = this.map.labels[this.label.selectedIndex];
    return label ? (name || "without this label") + ", " + count(rows.length) : "all " + count(rows.length);
  }

  group() {
    this.cells = new Array(this.names.length);
    this.order = [];
    const ordered = this.groups();
    const blocks = ordered.map(([name, rows]) => {
      const text = this.groupText(name, rows);
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

  // null: the node has none of it, or is not there.
  share(resource, row, view) {
    const allocatable = resource.allocatable(row), amount = resource.views[view](row);
    return allocatable > 0 && amount !== null ? amount / allocatable : null;
  }

  // Whether the run that is shown has the node.
  isThere(row) {
    return this.resources.some((resource) => resource.views[this.view](row) !== null);
  }

  paint() {
    const resource = this.resources[this.resource];
    this.cells.forEach((cell, row) => {
      const share = this.share(resource, row, this.view);
      const level = share === null ? "none" : share > 1 ? "over" : "l" + Math.ceil(share * 10);
      const [came, went] = this.movesOf(row);
      const lit = this.lit && this.lit.has(row) ? " lit" : "";
      const apart = this.apart[this.view](row);
      cell.className = "cell " + level + (came ? " came" : went ? " went" : "") + (apart ? " " + stateClass(apart) : "") + lit;
      const moves = (came ? " +" + count(came) : "") + (went ? " \u2212" + count(went) : "");
      const text = (this.isThere(row) ? share === null ? "no " + resource.name : resource.name + " " + percent(share) : "not there") + moves;
      cell.setAttribute("aria-label", this.names[row] + ", " + (apart && apart + ", ") + text);
      if (this.size.startsWith("large")) replaceChildren(cell, element("b", {}, this.names[row]), (apart && apart + " \u00b7 ") + text, ...this.others(row));
    });
  }

  // The other resources, where there is room for them.
  others(row) {
    if (!this.size.endsWith("roomy") || !this.isThere(row)) return [];
    const texts = this.resources.filter((_, index) => index !== this.resource).slice(0, 2).map((resource) => {
      const share = this.share(resource, row, this.view);
      return share === null ? "" : resource.name + " " + percent(share);
    });
    return [element("br"), texts.filter((text) => text).join(", ")];
  }

  // How many pods come to a node and leave it, from the first run to the one that is shown.
  movesOf(row) {
    if (!this.view || this.map.nodeColumns.length < 2 || !grids.pods) return [0, 0];
    if (!this.moves) this.moves = [];
    if (!this.moves[this.view]) {
      const moves = this.moves[this.view] = new Map();
      const [first, other] = [0, this.view].map((view) => grids.pods.readers[this.map.nodeColumns[view]]);
      const add = (name, place) => {
        if (!moves.has(name)) moves.set(name, [0, 0]);
        moves.get(name)[place] += 1;
      };
      for (let pod = 0; pod < grids.pods.length; pod++) {
        if (first(pod) === other(pod)) continue;
        add(other(pod), 0);
        add(first(pod), 1);
      }
    }
    return this.moves[this.view].get(this.names[row]) || [0, 0];
  }

  // Lights the nodes whose name or labels have the text, or which have pods that do, by name or owner.
  light(text) {
    if (text !== undefined) this.search.value = text;
    const word = this.search.value.trim().toLowerCase();
    this.lit = word ? new Set() : null;
    let pods = 0;
    if (word) {
      const row = new Map(this.names.map((name, index) => [name, index]));
      const labels = this.map.labels.map(readerOf);
      this.names.forEach((name, index) => {
        if (name.toLowerCase().includes(word) || labels.some((label) => label(index).toLowerCase().includes(word))) this.lit.add(index);
      });
      pods = this.lightPods(word, row);
    }
    this.list.classList.toggle("dimmed", this.lit !== null);
    this.lights.textContent = this.lit ? count(this.lit.size) + " of " + count(this.names.length) + " nodes" + (pods ? ", with " + count(pods) + " pods that match" : "") : "";
    this.paint();
  }

  lightPods(word, row) {
    const grid = grids.pods, column = this.map.nodeColumns[Math.min(this.view, this.map.nodeColumns.length - 1)];
    if (!grid) return 0;
    const owner = grid.columns.findIndex((each) => each.title === "Owner");
    let pods = 0;
    for (let pod = 0; pod < grid.length; pod++) {
      const index = row.get(grid.readers[column](pod));
      if (index === undefined || ![0, owner].some((each) => grid.readers[each](pod).toLowerCase().includes(word))) continue;
      this.lit.add(index);
      pods += 1;
    }
    return pods;
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

  // Rows of the table of pods: those on the node in the first run or in the one that is shown.
  podsOn(name) {
    const grid = grids.pods;
    if (!grid) return [];
    if (!this.index) {
      this.index = new Map();
      for (const column of this.map.nodeColumns) {
        for (let row = 0; row < grid.length; row++) {
          const key = grid.readers[column](row);
          if (!this.index.has(key)) this.index.set(key, new Set());
          this.index.get(key).add(row);
        }
      }
    }
    return [...(this.index.get(name) || [])].filter((row) => this.standing(row, name));
  }

  // What a pod is to a node, or "" where it is on it in neither run.
  standing(pod, name) {
    const columns = this.map.nodeColumns, grid = grids.pods;
    if (columns.length < 2) return grid.readers[1](pod);
    const [first, other] = [0, this.view].map((view) => grid.readers[columns[view]](pod));
    if (first === other) return first === name ? "running" : "";
    return other === name ? "comes from " + first : first === name ? "goes: " + other : "";
  }

  describe(row) {
    if (row < 0) {
      replaceChildren(this.about, element("p", { class: "note" }, "Point at a node, or walk with the arrow keys, to see what is on it."));
      return;
    }
    const labels = this.map.labels.slice(0, 3).map((label) => readerOf(label)(row)).filter((value) => value);
    const notes = [this.apart[this.view](row), ...labels, this.taints(row)].filter((text) => text).join(" \u00b7 ");
    const meters = !this.isThere(row) ? ["not there"] : this.resources.filter((resource) => resource.allocatable(row) > 0).map((resource) => {
      const first = this.share(resource, row, 0), shownShare = this.share(resource, row, this.view);
      const format = FORMATS[resource.kind];
      const change = first === shownShare || first === null ? "" : ", " + this.map.views[0] + " " + percent(first);
      return element(
        "span", {}, element("b", {}, resource.name + " " + percent(shownShare)), change + " (" +
        format(resource.views[this.view](row)) + " of " + format(resource.allocatable(row)) + ")",
      );
    });
    const name = this.names[row], pods = this.podsOn(name);
    replaceChildren(
      this.about, element("h3", {}, name), element("p", { class: "note" }, notes || "no taints"),
      element("p", { class: "meters" }, ...meters), this.podList(pods, name), ...this.more(name, pods),
    );
  }

  podList(pods, name) {
    const grid = grids.pods;
    const tones = [["placed", /^(placed|comes from)/], ["evicted", /^(evicted|goes:)/], ["running", /./]];
    const owner = grid ? grid.columns.findIndex((column) => column.title === "Owner") : -1;
    const items = pods.map((pod) => {
      const standing = this.standing(pod, name);
      return { pod, standing, tone: tones.findIndex(([, pattern]) => pattern.test(standing)) };
    });
    items.sort((a, b) => a.tone - b.tone || a.pod - b.pod);
    const shownItems = items.slice(0, PODS_SHOWN).map(({ pod, standing, tone }) => {
      const name = grid.readers[0](pod), controller = owner < 0 ? "" : grid.readers[owner](pod);
      const workload = !controller || controller.startsWith("no controller") ? name : controller;
      const button = element("button", { type: "button", class: "link", title: "Light up " + workload }, name);
      button.addEventListener("click", () => this.light(workload));
      return element("li", { class: tones[tone][0] }, button, standing === "running" ? "" : " \u2013 " + standing);
    });
    return items.length ? element("ul", { class: "pods", tabindex: 0, "aria-label": "Pods" }, ...shownItems) : element("p", {}, "no pods");
  }

  more(name, pods) {
    if (!pods.length) return [];
    const button = element("button", { type: "button" }, pods.length === 1 ? "Its pod in the table" : "Its " + count(pods.length) + " pods in the table");
    button.addEventListener("click", () => {
      grids.pods.filter(this.map.nodeColumns.length > 1 ? name : "node=" + name);
      grids.pods.input.scrollIntoView({ block: "start" });
      grids.pods.input.focus();
    });
    return [button];
  }
}

// So many nodes that an element for each would take long: a canvas for each group.
class DrawnNodeMap extends NodeMap {
  build(host) {
    super.build(host);
    this.list.setAttribute("role", "slider");
    this.list.setAttribute("aria-valuemin", 0);
    this.list.setAttribute("aria-valuemax", this.names.length - 1);
    this.list.setAttribute("aria-valuenow", 0);
    addEventListener("theme", () => this.paint());
  }

  group() {
    this.order = [];
    this.zones = [];
    this.places = new Array(this.names.length); // of each row: its zone, and its place there
    const groups = this.groups();
    const beside = Math.min(groups.length, 4), width = this.list.clientWidth || 1000;
    const columns = Math.max(20, Math.floor((width / beside - ZONE_GAP) / DOT_PITCH));
    const blocks = groups.map(([name, rows]) => {
      const canvas = element("canvas", { class: "dots", "aria-hidden": "true" });
      const lines = Math.ceil(rows.length / columns), across = Math.min(rows.length, columns);
      canvas.width = across * DOT_PITCH;
      canvas.height = lines * DOT_PITCH;
      const zone = this.zones.push({ canvas, rows, columns: across, first: this.order.length }) - 1;
      rows.forEach((row, place) => { this.places[row] = [zone, place]; this.order.push(row); });
      canvas.dataset.zone = zone;
      return element("div", { class: "zone" }, element("p", {}, this.groupText(name, rows)), canvas);
    });
    replaceChildren(this.list, ...blocks);
    this.paint();
    this.describe(this.selected);
  }

  rowOf(event) {
    const zone = this.zones[event.target.dataset && event.target.dataset.zone];
    if (!zone) return -1;
    const x = Math.floor(event.offsetX / DOT_PITCH), y = Math.floor(event.offsetY / DOT_PITCH);
    return x < zone.columns ? zone.rows[y * zone.columns + x] ?? -1 : -1;
  }

  paint() {
    const colours = this.colours(), resource = this.resources[this.resource];
    for (const { canvas, rows, columns } of this.zones) {
      const context = canvas.getContext("2d");
      context.clearRect(0, 0, canvas.width, canvas.height);
      rows.forEach((row, place) => {
        const share = this.share(resource, row, this.view);
        const x = (place % columns) * DOT_PITCH, y = Math.floor(place / columns) * DOT_PITCH;
        context.globalAlpha = this.lit && !this.lit.has(row) ? 0.18 : 1;
        context.fillStyle = colours[share === null ? "none" : share > 1 ? "over" : "l" + Math.ceil(share * 10)];
        context.fillRect(x, y, DOT, DOT);
        if (this.lit && this.lit.has(row)) {
          context.strokeStyle = colours.came;
          context.strokeRect(x - 0.5, y - 0.5, DOT + 1, DOT + 1);
        }
        const [came, went] = this.movesOf(row);
        if (came || went) {
          context.fillStyle = came ? colours.came : colours.went;
          context.fillRect(x, y, DOT, 2);
        }
        const apart = this.apart[this.view](row);
        if (apart) {
          context.fillStyle = colours[stateClass(apart)];
          context.fillRect(x, y + DOT - 2, DOT, 2);
        }
      });
      context.globalAlpha = 1;
    }
    if (this.selected >= 0) this.mark(this.selected);
  }

  colours() {
    const probe = element("span", {});
    this.list.append(probe);
    const colours = {};
    const read = (name, property) => { probe.className = name; return getComputedStyle(probe)[property]; };
    for (let level = 0; level <= 10; level++) colours["l" + level] = read("l" + level, "backgroundColor");
    colours.over = read("over", "backgroundColor");
    colours.none = read("night", "fill");
    colours.came = read("c1", "fill");
    colours.went = colours.chosen = read("", "color");
    for (const state of ["cordoned", "control-plane", "pressed", "ailing"]) colours[state] = read("cell " + state, "borderTopColor");
    probe.remove();
    return colours;
  }

  mark(row) {
    const [zone, place] = this.places[row], { canvas, columns } = this.zones[zone];
    const context = canvas.getContext("2d");
    context.strokeStyle = this.colours().chosen;
    context.strokeRect((place % columns) * DOT_PITCH - 0.5, Math.floor(place / columns) * DOT_PITCH - 0.5, DOT + 1, DOT + 1);
    const resource = this.resources[this.resource], share = this.share(resource, row, this.view);
    this.list.setAttribute("aria-valuenow", this.order.indexOf(row));
    this.list.setAttribute("aria-valuetext", this.names[row] + ", " + resource.name + " " + (share === null ? "none" : percent(share)));
  }

  select(row) {
    this.selected = row;
    this.paint();
    this.describe(row);
  }

  beside(place, step) {
    const [zone] = this.places[this.order[place]];
    return place + step * this.zones[zone].columns;
  }
}
