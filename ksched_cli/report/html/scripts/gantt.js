// -- pods by node over time -----------------------------------------------------------------------

const MOST_LANES = 16, MOST_WAITS = 24; // of a node, and of pods without one
const LANE_ROOM = 1200, HIGH_LANE = 12, LOW_LANE = 7, NODE_GAP = 5, COLOURS = 9; // pixels; colours that have a name of their own

class Gantt extends Curves {
  constructor(host, data) {
    const grid = grids.pods, at = (title) => grid.columns.findIndex((column) => column.title === title);
    const reader = (title) => grid.readers[at(title)] || (() => null);
    const [pod, node, owner, priority, outcome] = ["Pod", "Node", "Owner", "Priority", "Outcome"].map(reader);
    const [queued, placed, ended] = ["Queued", "Placed", "Left"].map(reader);
    const pods = Array.from({ length: grid.length }, (_, row) => ({
      name: pod(row), node: node(row) || "", outcome: outcome(row),
      by: { owner: owner(row), priority: String(priority(row) ?? 0), namespace: pod(row).split("/")[0] },
      queued: queued(row), start: node(row) ? placed(row) ?? 0 : null, end: ended(row) ?? data.end,
    }));
    const times = new Set([0, data.end]);
    pods.forEach((each) => [each.queued, each.start, each.end].forEach((time) => { if (time !== null) times.add(time); }));
    super(host, {
      ...data, pods, events: [], kinds: [],
      times: [[...times].sort((a, b) => a - b)], charts: [{ title: "Pods by node", lines: [] }],
    });
  }

  build() {
    this.rows = this.blocks();
    const keys = ["owner", "priority", "namespace"].filter((key) => new Set(this.data.pods.map((each) => each.by[key])).size > 1);
    this.key = keys[0] || "owner";
    this.choice = element("select", {}, ...keys.map((key) => element("option", {}, key)));
    this.choice.addEventListener("change", () => { this.key = this.choice.value; this.paint(); this.draw(); });
    this.legend = element("p", { class: "legend" });
    super.build();
    this.host.prepend(element("div", { class: "controls" }, ...(keys.length > 1 ? [labelled("Colour by", this.choice)] : [])), this.legend);
    this.paint();
    // Thousands of bars are drawn when they come near.
    this.isNear = false;
    const begin = () => { this.isNear = true; if (this.width) this.draw(); };
    new IntersectionObserver((entries, observer) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      begin();
    }, { rootMargin: "400px" }).observe(this.host);
    addEventListener("beforeprint", begin);
  }

  table() { return []; }

  // A block of lanes for the pods that wait, and one for each node. first, last: of a bar
  blocks() {
    const waits = this.data.pods.filter((each) => each.queued !== null && (each.start ?? each.end) > each.queued)
      .map((each) => ({ pod: each, first: each.queued, last: each.start ?? each.end, waits: true }))
      .sort((a, b) => b.last - b.first - (a.last - a.first));
    const nodes = new Map();
    this.data.pods.forEach((each) => {
      if (each.start === null) return;
      if (!nodes.has(each.node)) nodes.set(each.node, []);
      nodes.get(each.node).push({ pod: each, first: each.start, last: each.end });
    });
    const rows = [...nodes].sort(([a], [b]) => collator.compare(a, b))
      .map(([name, bars]) => this.packed(name, bars.sort((a, b) => a.first - b.first || a.last - b.last), MOST_LANES));
    return waits.length ? [this.packed("waiting", waits, MOST_WAITS), ...rows] : rows;
  }

  // Each bar in the first lane where it is free; those beyond the last lane are counted.
  packed(name, bars, most) {
    const lanes = [], placed = [];
    let more = 0;
    for (const bar of bars) {
      let lane = lanes.findIndex((taken) => taken.every((other) => bar.first >= other.last || bar.last <= other.first));
      if (lane < 0 && lanes.length < most) lane = lanes.push([]) - 1;
      if (lane < 0) { more += 1; continue; }
      lanes[lane].push(bar);
      placed.push({ ...bar, lane });
    }
    return { name, bars: placed, lanes: Math.max(1, lanes.length), more };
  }

  // The values of the most pods have colours of their own.
  paint() {
    const counts = new Map();
    this.data.pods.forEach((each) => counts.set(each.by[this.key], (counts.get(each.by[this.key]) || 0) + 1));
    const order = [...counts].sort((a, b) => b[1] - a[1] || collator.compare(a[0], b[0])).map(([name]) => name);
    this.colours = new Map(order.map((name, place) => [name, Math.min(place, COLOURS)]));
    const named = order.slice(0, COLOURS).map((name, colour) => element("span", { class: "key c" + colour }, name));
    if (order.length > COLOURS) named.push(element("span", { class: "key c9" }, count(order.length - COLOURS) + " others"));
    replaceChildren(this.legend, ...named.flatMap((key) => [key, " "]), "pale: waits; red edge: evicted");
  }

  drawChart(each) {
    const lanes = this.rows.reduce((sum, row) => sum + row.lanes, 0);
    const lane = lanes * HIGH_LANE <= LANE_ROOM ? HIGH_LANE : LOW_LANE;
    const height = this.rows.reduce((sum, row) => sum + Math.max(row.lanes * lane, HIGH_LANE) + NODE_GAP, 0);
    const { svg } = each, whole = FOOT + height + FOOT, clip = "clip" + ++ids;
    svg.setAttribute("viewBox", `0 0 ${this.width} ${whole}`);
    svg.setAttribute("width", this.width);
    svg.setAttribute("height", whole);
    if (!this.isNear) return;
    const plot = drawn("g", { "clip-path": `url(#${clip})` }), names = [];
    let y = FOOT;
    this.rows.forEach((row, place) => {
      const own = Math.max(row.lanes * lane, HIGH_LANE);
      if (place % 2 === 0) plot.append(drawn("rect", { class: "night", x: LEFT, y: y - 2, width: this.inner, height: own + NODE_GAP }));
      const short = row.name.length > 10 ? "\u2026" + row.name.slice(-8) : row.name;
      names.push(drawn("text", { x: LEFT - 6, y: y + 10, "text-anchor": "end" }, short, drawn("title", {}, row.name)));
      if (row.more) names.push(drawn("text", { x: LEFT - 6, y: y + own, "text-anchor": "end" }, "+" + count(row.more), drawn("title", {}, count(row.more) + " more that are not drawn")));
      row.bars.forEach((bar) => { if (bar.last >= this.view[0] && bar.first <= this.view[1]) plot.append(...this.bar(bar, y + bar.lane * lane, lane - 1)); });
      y += own + NODE_GAP;
    });
    each.cursor = drawn("line", { class: "cursor", y1: FOOT, y2: FOOT + height, visibility: "hidden" });
    each.band = drawn("rect", { class: "zoomed", y: FOOT, height, visibility: "hidden" });
    const axis = (at) => drawn("g", { transform: `translate(0 ${at - TOP - PLOT})` }, ...this.timeAxis());
    replaceChildren(
      svg, drawn("clipPath", { id: clip }, drawn("rect", { x: LEFT, y: 0, width: this.inner, height: whole })),
      axis(2), plot, axis(FOOT + height), ...names, each.band, each.cursor,
    );
  }

  bar({ pod, first, last, waits }, y, height) {
    const x = this.x(first), width = Math.max(1, this.x(last) - x - 0.5);
    const texts = [pod.name, pod.by.owner, "priority " + pod.by.priority];
    if (pod.queued !== null && (pod.start ?? pod.end) > pod.queued) texts.push("waited " + elapsed((pod.start ?? pod.end) - pod.queued));
    if (pod.start !== null) texts.push("ran " + elapsed(pod.end - pod.start) + " on " + pod.node);
    const shape = drawn("rect", { class: "c" + this.colours.get(pod.by[this.key]) + (waits ? " wait" : ""), x, y, width, height }, drawn("title", {}, texts.join(", ")));
    const isEvicted = !waits && pod.outcome === "evicted";
    return isEvicted ? [shape, drawn("rect", { class: "edge", x: x + width - 2, y, width: 2, height })] : [shape];
  }

  point(at) {
    super.point(at);
    if (at === null) return;
    let runs = 0, wait = 0;
    this.data.pods.forEach(({ queued, start, end }) => {
      if (start !== null && start <= at && at < end) runs += 1;
      else if (queued !== null && queued <= at && at < (start ?? end)) wait += 1;
    });
    this.happened.textContent = count(runs) + (runs === 1 ? " pod runs, " : " pods run, ") + count(wait) + (wait === 1 ? " waits" : " wait");
    this.slider.setAttribute("aria-valuetext", this.moment(at) + ": " + this.happened.textContent);
  }
}
