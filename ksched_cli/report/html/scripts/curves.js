// -- curves over time ---------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 76, RIGHT = 16, PLOT = 132, TOP = 18, FOOT = 34, LANE = 16; // pixels
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 364 * DAY]; // seconds between ticks
const MONDAY = 4 * DAY; // 1970 began on a Thursday
const NIGHTS = 16 * DAY; // nights are shaded in so long a time
const LABEL_WIDTH = 84, EXTREME_WIDTH = 44;

function drawn(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// The index of the last time that is not after it; -1 before the first.
function indexAt(times, at) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= at) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// Round steps of 1, 2 or 5 up to a value, of about so many.
function roundStep(top, parts, isWhole) {
  const rough = top / parts, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= rough * 0.999);
  return isWhole ? Math.max(1, step) : step;
}

class Curves {
  constructor(host, data) {
    this.host = host;
    this.data = data;
    const union = new Set(data.times.flat());
    data.events.forEach(([at]) => union.add(at));
    this.moments = [...union].sort((a, b) => a - b);
    this.kinds = data.kinds.filter((kind) => data.events.some((event) => event[1] === kind));
    this.view = this.whole = [this.moments[0], Math.max(data.end, this.moments[0] + 1e-3)];
    this.at = null;
    this.build();
    new ResizeObserver(() => this.resize()).observe(host);
  }

  build() {
    this.reset = element("button", { type: "button", hidden: true }, "Whole time");
    this.reset.addEventListener("click", () => this.show(this.whole));
    this.clock = element("span", { class: "clock" });
    this.happened = element("span", { class: "note" });
    this.slider = element("div", {
      role: "slider", tabindex: 0, class: "charts",
      "aria-label": this.host.dataset.label + ": the moment shown", "aria-valuemin": this.whole[0], "aria-valuemax": this.whole[1],
    });
    this.charts = this.data.charts.map((chart) => this.chart(chart));
    this.lanes = this.kinds.length ? drawn("svg", { class: "lanes", "aria-hidden": "true" }) : null;
    replaceChildren(this.slider, ...(this.lanes ? [this.lanes] : []), ...this.charts.map((chart) => chart.figure));
    replaceChildren(this.host, element("div", { class: "reader" }, this.clock, this.happened, this.reset), this.slider, ...this.table());
    this.listen();
    this.point(null);
  }

  table() {
    const rows = element("details", { class: "numbers" }, element("summary", {}, "Every moment as a table"));
    const table = element("div", { "data-label": this.host.dataset.label + ": every moment" });
    rows.append(table);
    rows.addEventListener("toggle", () => { if (rows.open && !table.firstChild) new Grid(table, this.columns()); });
    return [rows];
  }

  chart(chart) {
    const keys = chart.lines.map((line, i) => {
      const value = element("b", {});
      return { value, key: element("span", { class: "key c" + line.colour }, line.name + " ", value) };
    });
    const words = chart.lines.map((line) => line.name + (line.max ? ", at most " + this.figure(chart, line.max[1]) : ""));
    const svg = drawn("svg", { role: "img", "aria-label": chart.title + " over time: " + words.join("; ") });
    const figure = element(
      "figure", { class: "curve-chart" },
      element("figcaption", {}, element("b", {}, chart.title), " ", ...keys.map((each) => each.key)), svg,
    );
    return { chart, svg, figure, values: keys.map((each) => each.value), top: this.top(chart) };
  }

  // The value at the top of the axis: a round one.
  top(chart) {
    const values = chart.lines.flatMap((line) => [...(line.high || line.values), line.max ? line.max[1] : 0]);
    const most = values.reduce((a, b) => Math.max(a, b), 0) || 1;
    if (chart.isShare && most <= 1 && most > 0.4) return 1;
    const step = roundStep(most, 4, !chart.isShare);
    return Math.ceil(most / step - 1e-9) * step;
  }

  figure(chart, value) {
    return chart.isShare ? percent(value) : decimal(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  }

  values(line, at) {
    const index = indexAt(this.data.times[line.times], at);
    return index < 0 ? null : [line.values, line.low, line.high].map((list) => (list ? list[index] : null));
  }

  // -- time ---------------------------------------------------------------------------------------

  moment(at) {
    if (this.data.start === null) return elapsed(at);
    const date = new Date((this.data.start + at) * 1000), text = date.toISOString();
    const day = date.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
    return day + " " + text.slice(11, this.view[1] - this.view[0] < 6 * HOUR ? 19 : 16);
  }

  ticks() {
    const [first, last] = this.view, origin = this.data.start || 0;
    const most = Math.max(2, Math.floor(this.inner / LABEL_WIDTH));
    const step = STEPS.find((size) => (last - first) / size <= most) || Math.ceil((last - first) / most / DAY) * DAY;
    const from = step % (7 * DAY) === 0 && this.data.start !== null ? MONDAY : 0;
    const ticks = [];
    for (let time = Math.ceil((origin + first - from) / step) * step + from; time <= origin + last; time += step) {
      ticks.push(time - origin);
    }
    return ticks.map((at, i) => [at, this.label(at, step, i === 0 || this.day(at) !== this.day(ticks[i - 1]))]);
  }

  day(at) {
    return this.data.start === null ? 0 : Math.floor((this.data.start + at) / DAY);
  }

  // Two lines: the clock, and below it the day where it begins.
  label(at, step, isNewDay) {
    if (this.data.start === null) return [elapsed(at), ""];
    const [, weekday, date, month, clock] = /^(\w+),? (\d+) (\w+) (.*)$/.exec(this.moment(at)) || [];
    const days = weekday + " " + date + (step >= 7 * DAY || date === "1" ? " " + month : "");
    return step >= DAY ? [days, ""] : [step < MINUTE ? clock : clock.slice(0, 5), isNewDay ? days : ""];
  }

  x(at) {
    return LEFT + ((at - this.view[0]) / (this.view[1] - this.view[0])) * this.inner;
  }

  // -- drawing ------------------------------------------------------------------------------------

  resize() {
    const width = this.host.clientWidth;
    if (width && width !== this.width) {
      this.width = width;
      this.draw();
    }
  }

  show(view) {
    this.view = view;
    this.reset.hidden = view === this.whole;
    this.draw();
  }

  draw() {
    this.inner = Math.max(60, this.width - LEFT - RIGHT);
    this.labels = this.ticks();
    if (this.lanes) this.drawLanes();
    this.charts.forEach((each) => this.drawChart(each));
    this.point(this.at);
  }

  drawChart(each) {
    const { chart, svg, top } = each, height = TOP + PLOT + FOOT;
    svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    svg.setAttribute("width", this.width);
    svg.setAttribute("height", height);
    const y = (value) => TOP + PLOT * (1 - value / top);
    const clip = "clip" + ++ids;
    const plot = drawn("g", { "clip-path": `url(#${clip})` });
    plot.append(...this.nights(), ...this.marks());
    each.cursor = drawn("line", { class: "cursor", y1: TOP, y2: TOP + PLOT, visibility: "hidden" });
    each.band = drawn("rect", { class: "zoomed", y: TOP, height: PLOT, visibility: "hidden" });
    chart.lines.forEach((line) => plot.append(...this.line(line, y)));
    replaceChildren(
      svg,
      drawn("clipPath", { id: clip }, drawn("rect", { x: LEFT, y: TOP - 6, width: this.inner, height: PLOT + 8 })),
      ...this.valueAxis(chart, top, y), ...this.timeAxis(), plot, ...this.extremes(chart, y), each.band, each.cursor,
    );
  }

  valueAxis(chart, top, y) {
    const step = roundStep(top, 4, !chart.isShare), marks = [];
    for (let value = 0; value <= top * 1.0001; value += step) {
      marks.push(
        drawn("line", { class: "grid-line", x1: LEFT, x2: LEFT + this.inner, y1: y(value), y2: y(value) }),
        drawn("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, this.figure(chart, value)),
      );
    }
    return marks;
  }

  timeAxis() {
    const bottom = TOP + PLOT;
    return this.labels.flatMap(([at, [upper, lower]]) => [
      drawn("line", { class: "axis", x1: this.x(at), x2: this.x(at), y1: bottom, y2: bottom + 5 }),
      drawn("text", { x: this.x(at), y: bottom + 17, "text-anchor": "middle" }, upper),
      ...(lower ? [drawn("text", { class: "day", x: this.x(at), y: bottom + 30, "text-anchor": "middle" }, lower)] : []),
    ]);
  }

  nights() {
    const [first, last] = this.view, start = this.data.start;
    if (start === null || last - first > NIGHTS) return [];
    const nights = [];
    for (let dusk = Math.floor((start + first) / DAY) * DAY - 6 * HOUR; dusk < start + last; dusk += DAY) {
      const from = Math.max(first, dusk - start), to = Math.min(last, dusk + 12 * HOUR - start);
      if (to > from) nights.push(drawn("rect", { class: "night", x: this.x(from), width: this.x(to) - this.x(from), y: TOP, height: PLOT }));
    }
    return nights;
  }

  // What the timeline changed, through all charts.
  marks() {
    const isMarked = (kind) => kind === "changes" || (kind === "nodes" && !this.kinds.includes("scaling"));
    const changes = this.data.events.filter(([, kind]) => isMarked(kind));
    if (changes.length > 60) return [];
    return changes.map(([at]) => drawn("line", { class: "mark", x1: this.x(at), x2: this.x(at), y1: TOP, y2: TOP + PLOT }));
  }

  line(line, y) {
    const times = this.data.times[line.times], end = this.whole[1];
    const path = (values) => {
      let text = `M${this.x(times[0]).toFixed(1)} ${y(values[0]).toFixed(1)}`;
      for (let i = 1; i < times.length; i++) {
        text += `H${this.x(times[i]).toFixed(1)}`;
        if (values[i] !== values[i - 1]) text += `V${y(values[i]).toFixed(1)}`;
      }
      return text + `H${this.x(end).toFixed(1)}`;
    };
    const back = (values) => {
      let text = `L${this.x(end).toFixed(1)} ${y(values[values.length - 1]).toFixed(1)}`;
      for (let i = times.length - 1; i > 0; i--) text += `H${this.x(times[i]).toFixed(1)}V${y(values[i - 1]).toFixed(1)}`;
      return text + `H${this.x(times[0]).toFixed(1)}Z`;
    };
    const band = line.low ? [drawn("path", { class: "band c" + line.colour, d: path(line.high) + back(line.low) })] : [];
    return [...band, drawn("path", { class: "curve k" + line.colour, d: path(line.values) })];
  }

  // A point where each line is highest, with its value; not over another's.
  extremes(chart, y) {
    const placed = [];
    return chart.lines.flatMap((line) => {
      if (!line.max || !line.max[1] || line.max[0] < this.view[0] || line.max[0] > this.view[1]) return [];
      const x = this.x(line.max[0]), height = y(line.max[1]);
      const isFree = placed.every(([a, b]) => Math.abs(a - x) > EXTREME_WIDTH || Math.abs(b - height) > 13);
      const point = drawn("circle", { class: "extreme c" + line.colour, cx: x, cy: height, r: 3.5 });
      if (!isFree) return [point];
      placed.push([x, height]);
      const anchor = x > LEFT + this.inner - EXTREME_WIDTH ? "end" : x < LEFT + EXTREME_WIDTH ? "start" : "middle";
      return [point, drawn("text", { class: "extreme-text", x, y: height - 7, "text-anchor": anchor }, this.figure(chart, line.max[1]))];
    });
  }

  // A lane for each kind of event.
  drawLanes() {
    const height = this.kinds.length * LANE + 4;
    this.lanes.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.lanes.setAttribute("width", this.width);
    this.lanes.setAttribute("height", height);
    const rows = this.kinds.map((kind, i) => drawn("g", {},
      drawn("text", { x: LEFT - 8, y: i * LANE + 12, "text-anchor": "end" }, kind),
      drawn("line", { class: "grid-line", x1: LEFT, x2: LEFT + this.inner, y1: i * LANE + 9, y2: i * LANE + 9 })));
    const seen = new Set();
    for (const [at, kind, text, side] of this.data.events) {
      if (at < this.view[0] || at > this.view[1]) continue;
      const lane = this.kinds.indexOf(kind), x = this.x(at), key = lane + " " + side + " " + Math.round(x);
      if (seen.has(key)) continue; // a pixel has one mark
      seen.add(key);
      const down = /leaves|ScaleDown|evicted/.test(text), middle = lane * LANE + 9;
      const shape = down ? `M${x - 5} ${middle - 4}h10l-5 9z` : kind === "changes" ? `M${x} ${middle - 5}l5 5l-5 5l-5 -5z` : `M${x - 5} ${middle + 4}h10l-5 -9z`;
      rows[lane].append(drawn("path", { class: side === null ? "event" : "event c" + side, d: shape }, drawn("title", {}, this.moment(at) + " " + text)));
    }
    replaceChildren(this.lanes, ...rows);
    if (this.kinds[0] === "changes") rows[0].append(...this.changeTexts());
  }

  // What the changes are, as far as there is room before the next.
  changeTexts() {
    const changes = this.data.events.filter(([at, kind]) => kind === "changes" && at >= this.view[0] && at <= this.view[1]);
    return changes.flatMap(([at, , text], i) => {
      const end = i + 1 < changes.length ? this.x(changes[i + 1][0]) : this.width;
      const letters = Math.floor((end - this.x(at) - 20) / 7);
      if (letters < 8) return [];
      return [drawn("text", { class: "extreme-text", x: this.x(at) + 9, y: 13 }, text.length > letters ? text.slice(0, letters - 1) + "\u2026" : text)];
    });
  }

  // -- the moment that is pointed at ----------------------------------------------------------------

  // at: null: none; the readers then show what each line has at most
  point(at) {
    this.at = at;
    const shownAt = at === null ? this.whole[0] : at;
    this.clock.textContent = at === null ? "Point at a chart for the values at a moment." : this.moment(at);
    const near = at === null ? [] : this.data.events.filter((event) => Math.abs(this.x(event[0]) - this.x(at)) < 4);
    this.happened.textContent = near.slice(0, 4).map((event) => event[2]).join("; ") + (near.length > 4 ? "; and " + (near.length - 4) + " more" : "");
    const words = [];
    this.charts.forEach(({ chart, values, cursor }) => {
      if (cursor) {
        cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
        if (at !== null) ["x1", "x2"].forEach((name) => cursor.setAttribute(name, this.x(at)));
      }
      chart.lines.forEach((line, i) => {
        const text = at === null ? (line.max ? "at most " + this.figure(chart, line.max[1]) : "") : this.text(chart, line, at);
        values[i].textContent = text;
        if (at !== null) words.push(chart.title + " " + line.name + " " + text);
      });
    });
    this.slider.setAttribute("aria-valuenow", shownAt);
    this.slider.setAttribute("aria-valuetext", this.moment(shownAt) + (words.length ? ": " + words.join(", ") : ""));
  }

  text(chart, line, at) {
    const values = this.values(line, at);
    if (values === null) return "";
    const [value, low, high] = values;
    const text = this.figure(chart, value);
    return low === null || low === high ? text : `${text} (${this.figure(chart, low)} to ${this.figure(chart, high)})`;
  }

  listen() {
    const timeOf = (event) => {
      const x = event.clientX - this.host.getBoundingClientRect().left;
      const share = Math.max(0, Math.min(1, (x - LEFT) / this.inner));
      return this.view[0] + share * (this.view[1] - this.view[0]);
    };
    let from = null;
    this.slider.addEventListener("pointerdown", (event) => { if (event.button === 0) from = timeOf(event); });
    this.slider.addEventListener("pointermove", (event) => {
      const at = timeOf(event);
      this.point(at);
      if (from !== null) this.select(from, at);
    });
    this.slider.addEventListener("pointerleave", () => { if (from === null) this.point(null); });
    addEventListener("pointerup", (event) => {
      if (from === null) return;
      const [first, last] = [from, timeOf(event)].sort((a, b) => a - b);
      from = null;
      this.select(0, 0);
      if (this.x(last) - this.x(first) > 8) this.show([first, last]);
    });
    this.slider.addEventListener("dblclick", () => this.show(this.whole));
    this.slider.addEventListener("keydown", (event) => {
      if (!this.press(event.key)) return;
      event.preventDefault();
    });
  }

  select(first, last) {
    const [from, to] = [first, last].map((at) => this.x(at)).sort((a, b) => a - b);
    this.charts.forEach(({ band }) => {
      band.setAttribute("visibility", first === last ? "hidden" : "visible");
      band.setAttribute("x", from);
      band.setAttribute("width", to - from);
    });
  }

  // Whether the key means something here.
  press(key) {
    const [first, last] = this.view, at = this.at === null ? first : this.at;
    const index = indexAt(this.moments, at), page = (last - first) / 10;
    const targets = {
      ArrowRight: () => this.moments[Math.min(index + 1, this.moments.length - 1)],
      ArrowLeft: () => this.moments[Math.max(this.moments[index] < at ? index : index - 1, 0)],
      PageDown: () => at + page, PageUp: () => at - page, Home: () => first, End: () => last,
    };
    if (key in targets) {
      this.point(Math.max(first, Math.min(last, targets[key]())));
    } else if (key === "+" || key === "-") {
      const width = Math.min((last - first) * (key === "+" ? 0.5 : 2), this.whole[1] - this.whole[0]);
      const begin = Math.max(this.whole[0], Math.min(at - width / 2, this.whole[1] - width));
      this.show(width === this.whole[1] - this.whole[0] ? this.whole : [begin, begin + width]);
    } else if (key === "Escape") {
      this.show(this.whole);
      this.point(null);
    } else {
      return false;
    }
    return true;
  }

  // A row per moment, a column per line.
  columns() {
    const times = [...new Set(this.data.times.flat())].sort((a, b) => a - b);
    const columns = this.data.charts.flatMap((chart) => chart.lines.map((line) => ({
      title: chart.title + ": " + line.name,
      kind: chart.isShare ? "share" : "number",
      values: times.map((at) => {
        const values = this.values(line, at);
        return values === null ? null : chart.isShare ? values[0] * 100 : values[0];
      }),
    })));
    return [{ title: this.data.start === null ? "At" : "At (UTC)", kind: "text", values: times.map((at) => this.moment(at)) }, ...columns];
  }
}
