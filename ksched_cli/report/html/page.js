"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // -- elements ---------------------------------------------------------------------------------

  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children);
    return node;
  }

  function replaceChildren(host, ...children) {
    host.replaceChildren(...children);
    return host;
  }

  let ids = 0;
  function labelled(text, control) {
    control.id = "control" + ++ids;
    return element("div", {}, element("label", { for: control.id }, text), control);
  }

  // -- values -----------------------------------------------------------------------------------

  const lengthOf = (column) => (column.index || column.values).length;
  const readerOf = (column) =>
    column.terms ? (row) => column.terms[column.index[row]] : (row) => column.values[row];
  const count = (value) => value.toLocaleString("en-US");
  const decimal = (value) => value.toFixed(1).replace(/\.0$/, "");

  const FORMATS = {
    text: (value) => value,
    number: count,
    cpu: (value) => (value < 1000 ? value + "m" : count(Math.round(value / 10) / 100)),
    bytes(value) {
      for (const [power, unit] of [[4, "Ti"], [3, "Gi"], [2, "Mi"], [1, "Ki"]]) {
        if (Math.abs(value) >= 1024 ** power) return decimal(value / 1024 ** power) + unit;
      }
      return count(value);
    },
    share: (value) => decimal(value) + "%",
  };
  FORMATS.cpu = ((format) => (value) => (value === 0 ? "0" : format(value)))(FORMATS.cpu);
  const shown = (kind, value) => (value === null || value === "" ? "" : FORMATS[kind](value));
  const percent = (share) => {
    const rounded = Math.round(share * 100);
    if (rounded === 100 && share !== 1) return (share < 1 ? 99 : 101) + "%";
    return rounded === 0 && share > 0 ? "<1%" : rounded + "%";
  };

  // -- tables that are sorted and filtered --------------------------------------------------------

  const MARGIN = 12; // rows rendered above and below those that are seen
  const WHOLE = 60; // a table of so many rows is rendered whole
  const PRINTED = 300;
  const LETTER = 8, LEAST = 22; // the width of a letter in pixels; of texts so many are shown
  const COLLATED = 5000; // more texts are compared by their letters alone
  const collator = new Intl.Collator("en", { numeric: true });
  const grids = {};

  class Grid {
    constructor(host, columns) {
      this.columns = columns;
      this.readers = columns.map(readerOf);
      this.length = lengthOf(columns[0]);
      this.rows = this.all = Array.from({ length: this.length }, (_, row) => row);
      this.sorted = null;
      this.rowHeight = 31;
      this.build(host);
      this.render();
    }

    build(host) {
      const title = host.dataset.label;
      this.input = element("input", {
        type: "search", autocomplete: "off", spellcheck: "false",
        placeholder: this.hint(),
      });
      this.input.addEventListener("input", () => this.filter());
      this.counter = element("p", { class: "note", role: "status" });
      this.head = this.columns.map((column, index) => this.header(column, index));
      this.cols = this.columns.map(() => element("col"));
      this.lengths = this.columns.map((column) => this.longest(column));
      this.body = element("tbody");
      this.table = element(
        "table", { "aria-label": title, "aria-rowcount": this.length + 1 },
        element("colgroup", {}, ...this.cols),
        element("thead", {}, element("tr", { "aria-rowindex": 1 }, ...this.head)),
        this.body,
      );
      this.scroll = element(
        "div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title + ", rows" }, this.table,
      );
      this.scroll.addEventListener("scroll", () => this.schedule(), { passive: true });
      const controls = element("div", { class: "controls" });
      if (this.length > 5) controls.append(labelled("Filter " + title.toLowerCase(), this.input));
      controls.append(this.counter);
      replaceChildren(host, controls, this.scroll);
      new ResizeObserver(() => this.setWidths()).observe(this.scroll);
    }

    hint() {
      const text = this.columns.find((column, index) => index > 0 && column.kind === "text" && column.terms);
      if (!text) return "words";
      const term = (text.terms.find((value) => value) || "").split(/\s/)[0];
      return "words, or " + text.title.toLowerCase().split(" ")[0] + ":" + term;
    }

    header(column, index) {
      const button = element("button", { type: "button", title: "Sort by " + column.title }, column.title);
      button.addEventListener("click", () => this.sort(index));
      return element(
        "th", { scope: "col", class: column.kind === "text" ? null : "number", "aria-sort": "none" }, button,
      );
    }

    // In letters; of a long column from a sample.
    longest(column) {
      const values = column.terms || column.values;
      const step = Math.max(1, Math.floor(values.length / 400));
      let most = Math.min(column.title.length * 1.1 + 2, column.kind === "text" ? 60 : 16);
      for (let i = 0; i < values.length; i += step) {
        most = Math.max(most, String(shown(column.kind, values[i])).length);
      }
      return most;
    }

    // Numbers are shown whole; the longest texts are cut where there is no room for all.
    setWidths() {
      const width = this.scroll.clientWidth;
      const isText = this.columns.map((column) => column.kind === "text");
      const widths = (most) => this.lengths.map((length, i) => (isText[i] ? Math.min(length, most) : length) * LETTER + 24);
      const sum = (sizes) => sizes.reduce((total, size) => total + size, 0);
      let most = Math.max(...this.lengths);
      while (most > LEAST && sum(widths(most)) > width) most -= 1;
      const sizes = widths(most), rest = Math.max(0, width - sum(sizes));
      const texts = sum(sizes.filter((_, i) => isText[i])) || 1;
      sizes.forEach((size, i) => {
        this.cols[i].style.width = size + (isText[i] ? (rest * size) / texts : 0) + "px";
      });
      this.table.style.width = Math.max(width, sum(sizes)) + "px";
    }

    sort(index) {
      const isNumber = this.columns[index].kind !== "text";
      const again = this.sorted && this.sorted.index === index;
      const descending = again ? !this.sorted.descending : isNumber;
      this.sorted = { index, descending };
      this.head.forEach((cell, i) => {
        const direction = descending ? "descending" : "ascending";
        cell.setAttribute("aria-sort", i === index ? direction : "none");
      });
      this.all = this.ordered(index, descending);
      this.filter();
    }

    ordered(index, descending) {
      const column = this.columns[index], value = this.readers[index];
      let key = value;
      if (column.kind === "text" && column.terms) {
        const order = column.terms.map((_, term) => term);
        order.sort((a, b) => collator.compare(column.terms[a], column.terms[b]));
        const rank = [];
        order.forEach((term, place) => { rank[term] = column.terms[term] === "" ? null : place; });
        key = (row) => rank[column.index[row]];
      }
      const collated = key === value && column.kind === "text" && this.length <= COLLATED;
      const sign = descending ? -1 : 1;
      return Array.from({ length: this.length }, (_, row) => row).sort((a, b) => {
        const x = key(a), y = key(b);
        if (x === y) return a - b;
        if (x === null || x === "") return 1;
        if (y === null || y === "") return -1;
        return sign * (collated ? collator.compare(x, y) : x < y ? -1 : 1) || a - b;
      });
    }

    haystack(row) {
      if (!this.texts) this.texts = new Array(this.length);
      if (this.texts[row] === undefined) {
        const cells = this.columns.map((column, index) => shown(column.kind, this.readers[index](row)));
        this.texts[row] = cells.join("\n").toLowerCase();
      }
      return this.texts[row];
    }

    tests() {
      const titles = this.columns.map((column) => column.title.toLowerCase().split(" ")[0]);
      return this.input.value.toLowerCase().split(/\s+/).filter((word) => word).map((word) => {
        const [, name, sign, text] = /^([^:=]+)([:=])(.*)$/.exec(word) || [];
        const index = titles.indexOf(name);
        if (index < 0) return (row) => this.haystack(row).includes(word);
        const kind = this.columns[index].kind, value = this.readers[index];
        const cell = (row) => String(shown(kind, value(row))).toLowerCase();
        return sign === "=" ? (row) => cell(row) === text : (row) => cell(row).includes(text);
      });
    }

    filter(text) {
      if (text !== undefined) this.input.value = text;
      const tests = this.tests();
      this.rows = tests.length ? this.all.filter((row) => tests.every((test) => test(row))) : this.all;
      this.scroll.scrollTop = 0;
      this.render();
    }

    schedule() {
      if (this.isScheduled) return;
      this.isScheduled = true;
      requestAnimationFrame(() => { this.isScheduled = false; this.render(); });
    }

    render(whole = 0) {
      const rows = this.rows, height = this.rowHeight;
      this.counter.textContent = rows.length === this.length
        ? count(this.length) + (this.length === 1 ? " row" : " rows")
        : count(rows.length) + " of " + count(this.length) + " rows";
      let first = 0, last = rows.length;
      if (whole) {
        last = Math.min(last, whole);
      } else if (rows.length > WHOLE) {
        const seen = Math.ceil((this.scroll.clientHeight || 600) / height);
        first = Math.max(0, Math.floor(this.scroll.scrollTop / height) - MARGIN);
        last = Math.min(rows.length, first + seen + 2 * MARGIN);
      }
      const parts = [];
      if (first) parts.push(this.spacer(first * height));
      for (let place = first; place < last; place++) parts.push(this.row(rows[place], place));
      if (whole && last < rows.length) {
        const rest = element("td", { colspan: this.columns.length }, "and " + count(rows.length - last) + " more rows");
        parts.push(element("tr", {}, rest));
      } else if (last < rows.length) {
        parts.push(this.spacer((rows.length - last) * height));
      }
      replaceChildren(this.body, ...parts);
    }

    spacer(height) {
      const cell = element("td", { colspan: this.columns.length });
      cell.style.height = height + "px";
      return element("tr", { class: "spacer", "aria-hidden": "true" }, cell);
    }

    row(row, place) {
      const cells = this.columns.map((column, index) => {
        const text = shown(column.kind, this.readers[index](row));
        const title = text.length > 24 ? text : null;
        return element("td", { class: column.kind === "text" ? null : "number", title }, text);
      });
      return element("tr", { "aria-rowindex": place + 2 }, ...cells);
    }
  }

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

  // -- two nodes side by side -----------------------------------------------------------------------

  class Pair {
    constructor(host, pair) {
      this.pair = pair;
      this.row = new Map(pair.names.map((name, row) => [name, row]));
      this.total = readerOf(pair.total);
      this.rank = readerOf(pair.rank);
      this.rejections = readerOf(pair.rejections);
      this.plugins = pair.plugins.map((plugin) => ({
        name: plugin.name, weight: plugin.weight,
        raw: readerOf(plugin.raw), normalized: readerOf(plugin.normalized),
        weighted: readerOf(plugin.weighted), details: readerOf(plugin.details),
      }));
      const names = element("datalist", { id: "node-names" }, ...pair.names.map((name) => element("option", { value: name })));
      this.inputs = [pair.first, pair.second].map((name) => {
        const input = element("input", { type: "search", list: "node-names", autocomplete: "off", spellcheck: "false" });
        input.value = name;
        input.addEventListener("input", () => this.render());
        return input;
      });
      this.output = element("div", { class: "wide", role: "status" });
      replaceChildren(
        host, names,
        element("div", { class: "controls" }, labelled("Node", this.inputs[0]), labelled("beside", this.inputs[1])),
        this.output,
      );
      this.render();
    }

    render() {
      const rows = this.inputs.map((input) => this.row.get(input.value.trim()));
      const missing = this.inputs.find((input, i) => rows[i] === undefined);
      if (missing) {
        replaceChildren(this.output, element("p", { class: "note" }, "No node is named \u201c" + missing.value + "\u201d."));
        return;
      }
      const verdicts = element("tr", {}, element("th", { scope: "row" }, "Verdict"), ...rows.map((row) => this.verdict(row)), element("td"));
      const plugins = this.plugins.filter((plugin) => rows.some((row) => plugin.weighted(row) !== null));
      const head = element(
        "tr", {}, ...["", ...rows.map((row) => this.pair.names[row]), "Difference"].map((text, i) =>
          element(i ? "th" : "td", i ? { scope: "col", class: i === 3 ? "number" : null } : {}, text)),
      );
      replaceChildren(this.output, element(
        "table", { class: "two", "aria-label": "Two nodes side by side" },
        element("thead", {}, head),
        element("tbody", {}, verdicts, ...plugins.map((plugin) => this.pluginRow(plugin, rows))),
      ));
    }

    verdict(row) {
      const total = this.total(row);
      if (total !== null) return element("td", {}, "rank " + count(this.rank(row)) + ", " + count(total) + " points");
      const lines = this.rejections(row).map(([plugin, reasons, details]) =>
        element("p", { class: "message" }, element("b", {}, plugin || "filter"), ": " + [...reasons, ...details].join("; ")));
      return element("td", {}, ...(lines.length ? ["does not fit", ...lines] : ["was not scored"]));
    }

    pluginRow(plugin, rows) {
      const points = rows.map((row) => plugin.weighted(row));
      const cells = rows.map((row, i) => {
        if (points[i] === null) return element("td", {}, "");
        const other = points[1 - i];
        const better = other !== null && points[i] > other;
        const arithmetic = "raw " + count(plugin.raw(row)) + ", " + plugin.normalized(row) + " \u00d7 " + plugin.weight;
        const details = plugin.details(row);
        return element(
          "td", {}, element("span", { class: better ? "better" : null }, count(points[i]) + " points"),
          element("p", { class: "note" }, arithmetic + (details ? "; " + details : "")),
        );
      });
      const both = points[0] !== null && points[1] !== null;
      const difference = both ? points[0] - points[1] : null;
      const text = difference === null ? "" : (difference > 0 ? "+" : "") + count(difference);
      return element("tr", {}, element("th", { scope: "row" }, plugin.name), ...cells, element("td", { class: "number" }, text));
    }
  }

  // -- the page -------------------------------------------------------------------------------------

  function addThemeButton() {
    const button = document.getElementById("theme"), root = document.documentElement;
    const isDark = () => root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
    name();
    button.hidden = false;
  }

  function listenForPrinting() {
    let shut = [];
    addEventListener("beforeprint", () => {
      shut = [...document.querySelectorAll("details.group:not([open])")];
      shut.forEach((details) => { details.open = true; });
      Object.values(grids).forEach((grid) => grid.render(PRINTED));
    });
    addEventListener("afterprint", () => {
      shut.forEach((details) => { details.open = false; });
      Object.values(grids).forEach((grid) => grid.render());
    });
  }

  document.querySelectorAll("[data-grid]").forEach((host) => {
    grids[host.dataset.grid] = new Grid(host, data.grids[host.dataset.grid]);
  });
  if (data.map) new NodeMap(document.getElementById("map"), data.map);
  if (data.pair) new Pair(document.getElementById("pair"), data.pair);
  addThemeButton();
  listenForPrinting();
})();
