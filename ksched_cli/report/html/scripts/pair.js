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

  // Its name may be without the ending that other tables leave out.
  rowOf(text) {
    if (this.row.has(text)) return this.row.get(text);
    const whole = this.pair.names.filter((name) => name.startsWith(text + "."));
    return whole.length === 1 ? this.row.get(whole[0]) : undefined;
  }

  render() {
    const rows = this.inputs.map((input) => this.rowOf(input.value.trim()));
    const missing = this.inputs.find((input, i) => rows[i] === undefined);
    if (missing) {
      replaceChildren(this.output, element("p", { class: "note" }, "No node is named \u201c" + missing.value + "\u201d."));
      return;
    }
    const verdicts = element("tr", {}, element("th", { scope: "row" }, "Verdict"), ...rows.map((row) => this.verdict(row)), element("td"));
    const plugins = this.plugins.filter((plugin) => rows.some((row) => plugin.weighted(row) !== null));
    const difference = plugins.length ? "Difference" : "";
    const head = element(
      "tr", {}, ...["", ...rows.map((row) => this.pair.names[row]), difference].map((text, i) =>
        element(text ? "th" : "td", text ? { scope: "col", class: i === 3 ? "number" : null } : {}, text)),
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
