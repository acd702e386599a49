// -- tables that are sorted and filtered --------------------------------------------------------

const MARGIN = 12; // rows rendered above and below those that are seen
const WHOLE = 60; // a table of so many rows is rendered whole
const PRINTED = 300;
const LEAST = 520; // pixels of a long text that are shown where it cannot break
const EDGE = 22; // beside a text
const COLLATED = 5000; // more texts are compared by their letters alone
const VERDICTS = { no: -2, passes: -1 }; // where they are sorted below points
const collator = new Intl.Collator("en", { numeric: true });
const grids = {};

function csv(titles, rows) {
  const cell = (text) => (/[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
  return [titles, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function markdown(titles, rows) {
  const line = (cells) => "| " + cells.map((text) => text.replaceAll("|", "\\|").replace(/\s+/g, " ")).join(" | ") + " |";
  return [line(titles), line(titles.map(() => "---")), ...rows.map(line)].join("\n") + "\n";
}

// To the clipboard, also of pages that are opened from a file.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { "aria-hidden": "true", class: "skip" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

// Where a title may break: names of plugins before their capitals.
const wordsOf = ({ title, kind }) => title.split(kind === "verdict" ? /(?=[A-Z])|(?<=[./])/ : /(?<=[.])/);

class Grid {
  constructor(host, columns) {
    this.columns = columns;
    this.readers = columns.map(readerOf);
    this.length = lengthOf(columns[0]);
    this.rows = this.all = Array.from({ length: this.length }, (_, row) => row);
    this.sorted = null;
    this.rowHeight = 31;
    this.breaks = this.length <= WHOLE; // texts, where rows may differ in height
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
    this.body = element("tbody");
    this.table = element(
      "table", { "aria-label": title, "aria-rowcount": this.length + 1, class: this.breaks ? "breaks" : null },
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
    controls.append(this.copyButton("CSV", csv), this.copyButton("Markdown", markdown), this.counter);
    replaceChildren(host, controls, this.scroll);
    new ResizeObserver(() => this.setWidths()).observe(this.scroll);
  }

  // Copies the rows that the filter leaves, in their order.
  copyButton(name, written) {
    const button = element("button", { type: "button", class: "copy" }, "Copy as " + name);
    button.addEventListener("click", async () => {
      const titles = this.columns.map((column) => column.title);
      const cells = this.rows.map((row) => this.columns.map((column, index) => this.plain(column, row, index, name)));
      await copied(written(titles, cells));
      this.counter.textContent = "Copied " + count(this.rows.length) + (this.rows.length === 1 ? " row" : " rows") + " as " + name;
    });
    return button;
  }

  // In CSV numbers are as programs read them.
  plain(column, row, index, name) {
    const value = this.readers[index](row);
    if (value === null || value === "") return "";
    return name === "CSV" ? String(value) : shown(column.kind, value);
  }

  hint() {
    const text = this.columns.find((column, index) => index > 0 && column.kind === "text" && column.terms);
    if (!text) return "words";
    const term = (text.terms.find((value) => value) || "").split(/\s/)[0];
    return "words, or " + text.title.toLowerCase().split(" ")[0] + ":" + term;
  }

  header(column, index) {
    const button = element("button", { type: "button", title: "Sort by " + column.title }, wordsOf(column).join("\u200b"));
    button.addEventListener("click", () => this.sort(index));
    return element(
      "th", { scope: "col", class: column.kind === "text" ? null : "number", "aria-sort": "none" }, button,
    );
  }

  // Of the longest text and the longest word, in pixels; of a long column from a sample. Titles break
  // between their words.
  measured(column) {
    const ruler = element("canvas").getContext("2d"), style = getComputedStyle(this.table);
    const font = style.fontSize + " " + style.fontFamily;
    const width = (texts) => Math.max(0, ...texts.map((text) => ruler.measureText(text).width));
    const values = column.terms || column.values;
    const step = Math.max(1, Math.floor(values.length / 400));
    const texts = values.filter((_, i) => i % step === 0).map((value) => String(shown(column.kind, value)));
    ruler.font = "600 " + font;
    const arrow = 14, title = width([column.title]) + arrow, titleWord = width(wordsOf(column).flatMap((word) => word.split(" "))) + arrow;
    ruler.font = font;
    const isText = column.kind === "text", text = width(texts);
    const least = !isText ? text : Math.min(this.breaks ? width(texts.flatMap((each) => each.split(" "))) : text, LEAST);
    return { isText, longest: Math.max(column.kind === "verdict" ? titleWord : title, text) + EDGE, least: Math.max(titleWord, least) + EDGE };
  }

  // Numbers and names are shown whole; long texts break or are cut where there is no room for all.
  setWidths() {
    if (!this.measures) this.measures = this.columns.map((column) => this.measured(column));
    const width = this.scroll.clientWidth;
    const widths = (most) => this.measures.map(({ longest, least }) => Math.min(longest, Math.max(least, most)));
    const sum = (sizes) => sizes.reduce((total, size) => total + size, 0);
    let most = Math.max(...this.measures.map(({ longest }) => longest));
    while (most > 0 && sum(widths(most)) > width) most -= 4;
    const sizes = widths(most), rest = Math.max(0, width - sum(sizes));
    const texts = sum(sizes.filter((_, i) => this.measures[i].isText)) || 1;
    sizes.forEach((size, i) => {
      this.cols[i].style.width = size + (this.measures[i].isText ? (rest * size) / texts : 0) + "px";
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
    if (column.kind === "verdict") key = (row) => VERDICTS[value(row)] ?? value(row);
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

  // A verdict's colour: that of a rejection, or of the points between the column's least and most.
  tone(column, value) {
    if (column.kind !== "verdict" || value === null) return "";
    if (typeof value !== "number") return " verdict " + value;
    if (!column.range) {
      const numbers = (column.terms || column.values).filter((each) => typeof each === "number");
      column.range = numbers.reduce(([least, most], each) => [Math.min(least, each), Math.max(most, each)], [value, value]);
    }
    const [least, most] = column.range;
    return " verdict l" + (most > least ? Math.ceil((4 * (value - least)) / (most - least)) : 0);
  }

  spacer(height) {
    const cell = element("td", { colspan: this.columns.length });
    cell.style.height = height + "px";
    return element("tr", { class: "spacer", "aria-hidden": "true" }, cell);
  }

  row(row, place) {
    const cells = this.columns.map((column, index) => {
      const value = this.readers[index](row), text = shown(column.kind, value);
      const title = text.length > 24 ? text : null;
      return element("td", { class: column.kind === "text" ? null : "number" + this.tone(column, value), title }, text);
    });
    return element("tr", { "aria-rowindex": place + 2 }, ...cells);
  }
}
