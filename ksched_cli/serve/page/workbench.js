"use strict";
(() => {
const $ = (id) => document.getElementById(id);
const SEARCH_MS = 150, FINDINGS_MS = 300, SETTLE_MS = 250, PAGE_FIRST_MS = 50, DRAG_MS = 200, COPIED_MS = 1500, MAX_WEIGHT = 20;
const VERBS = ["drain ", "cordon ", "uncordon ", "taint nodes ", "label nodes ", "scale deployment/", "set resources ", "delete pod/", "rollout restart ", "add-nodes spare --like ", "fail nodes ", "reschedule --all"];
const QUESTIONS = { schedule: "Schedule", compare: "Compared with before", start: "Compared with the start", explain: "Explain", fix: "Fix" };
const CONTAINER = (indent) => ["containers:", "- name: main", "  image: app:1", "  resources:", "    requests:", "      cpu: 500m", "      memory: 256Mi"].map((line) => indent + line).join("\n");
const WORKLOAD = (kind, api, fields) => `apiVersion: ${api}\nkind: ${kind}\nmetadata:\n  name: new-${kind.toLowerCase()}\n  namespace: default\nspec:\n${fields}\n  template:\n    metadata:\n      labels:\n        app: new-${kind.toLowerCase()}\n    spec:\n`;
const TEMPLATES = {
  Pod: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: new-pod\n  namespace: default\nspec:\n" + CONTAINER("  ") + "\n",
  Deployment: WORKLOAD("Deployment", "apps/v1", "  replicas: 3\n  selector:\n    matchLabels:\n      app: new-deployment") + CONTAINER("      ") + "\n",
  Job: WORKLOAD("Job", "batch/v1", "  parallelism: 3\n  completions: 3") + "      restartPolicy: Never\n" + CONTAINER("      ") + "\n",
  Node: "apiVersion: v1\nkind: Node\nmetadata:\n  name: new-node\n  labels:\n    kubernetes.io/hostname: new-node\n    topology.kubernetes.io/zone: zone-a\nspec:\n  taints: []\nstatus:\n  allocatable:\n    cpu: '4'\n    memory: 16Gi\n    pods: '110'\n",
};
// runs: the digests of those before and after the one that is shown, at: its place among them;
// starts: by state, the Run without edits.
const bench = { run: null, runs: [], at: -1, starts: {}, start: "", largest: Infinity, question: "schedule", object: null };

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

function button(text, action, attributes = {}) {
  const node = element("button", { type: "button", ...attributes }, text);
  node.addEventListener("click", action);
  return node;
}

// What a button does that copies a text, and says so itself: the text may be a message that stays.
function copyOf(text) {
  return act(async (event) => {
    const node = event.currentTarget, label = node.textContent;
    await navigator.clipboard.writeText(text());
    node.textContent = "Copied";
    setTimeout(() => { node.textContent = label; }, COPIED_MS);
  });
}

// -- the server -----------------------------------------------------------------------------------

async function ask(path, body, signal) {
  const options = body === undefined ? { signal } : { method: "POST", body: JSON.stringify(body), signal };
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the server does not answer: it may have ended");
  }
  if (response.status === 204) return null;
  const isJson = (response.headers.get("content-type") || "").startsWith("application/json");
  if (!response.ok) throw new Error(isJson ? (await response.json()).error : response.statusText);
  return isJson ? response.json() : response.text();
}

// Sends a file with a state; says how far it is.
function sent(file) {
  return new Promise((resolve, reject) => {
    if (file.size > bench.largest) throw new Error(file.name + " has " + megabytes(file.size) + ": a state has at most " + megabytes(bench.largest));
    const request = new XMLHttpRequest();
    request.open("POST", url("/api/state", { name: file.name }));
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded }) => say("Sending " + file.name + ": " + megabytes(loaded) + " of " + megabytes(file.size)));
    request.upload.addEventListener("load", () => say("Reading " + file.name + ", " + megabytes(file.size) + "\u2026"));
    request.addEventListener("load", () => {
      if (request.status === 200) resolve(request.response);
      else reject(new Error((request.response || {}).error || request.statusText));
    });
    request.addEventListener("error", () => reject(new Error(file.name + " cannot be sent: it is a folder, or the server has ended")));
    request.send(file);
  });
}

const megabytes = (bytes) => (bytes < 1e5 ? Math.ceil(bytes / 1000).toLocaleString("en-US") + " kB" : (bytes / 1e6).toFixed(1) + " MB");

const url = (path, query = {}) => path + "?" + new URLSearchParams(query);
const ofRun = (path) => "/api/runs/" + bench.run.digest + path;

// What a person does: its error is shown, and one that is overtaken by another says nothing.
function act(action) {
  return async (...values) => {
    try {
      await action(...values);
    } catch (error) {
      if (error.name !== "AbortError") say(error.message, true);
    }
  };
}

function say(text, isError = false) {
  $("error").hidden = !isError;
  $("error").textContent = isError ? text : "";
  $("copy-error").hidden = !isError;
  $("status").textContent = isError ? "" : text;
}

// -- Runs -----------------------------------------------------------------------------------------

// Edits are made one after the other, each to what the one before it left.
let queue = Promise.resolve();

// load: gives the Run to show. Resolves to whether there was one.
function opened(load) {
  const start = performance.now();
  $("answer").setAttribute("aria-busy", "true");
  const shown = queue.then(async () => {
    const run = await load();
    bench.start = await startOf(run);
    show(run, start);
    return true;
  });
  queue = shown.catch((error) => {
    $("answer").removeAttribute("aria-busy");
    say(error.message, true);
    return false;
  });
  return queue;
}

// A Run with other edits, as `make` makes them; it comes after the one that is shown.
const edit = (make) => opened(async () => {
  const run = await ask("/api/runs", { ...bench.run.edits, ...await make(bench.run.edits) });
  if (bench.run.digest !== run.digest) {
    bench.runs = [...bench.runs.slice(0, bench.at + 1), run.digest];
    bench.at += 1;
  }
  return run;
});

const step = (by) => opened(async () => {
  const at = Math.max(0, Math.min(bench.runs.length - 1, bench.at + by));
  const run = await ask("/api/runs/" + bench.runs[at]);
  bench.at = at;
  return run;
});

// The Run of a Run's state without edits: of the command line, or of the file that was dropped.
async function startOf({ edits: { state = "" } }) {
  if (!bench.starts[state]) bench.starts[state] = (await ask("/api/runs", { state })).digest;
  return bench.starts[state];
}

// The Run of a file's state, with the configuration of the one that is shown.
const loaded = (file) => edit(async () => {
  const { state } = await sent(file);
  say("Scheduling the pods of " + file.name + "\u2026");
  return { state, changes: [] };
});

const dropped = act(async (event) => {
  event.preventDefault();
  const { files } = event.dataTransfer;
  if (files.length !== 1) throw new Error("drop one file: all objects of a cluster, as ksched snapshot or kubectl get -o json writes them");
  await loaded(files[0]);
});

// The start again; undo leads back from it.
const reset = () => opened(async () => {
  const run = await ask("/api/runs/" + bench.start);
  bench.runs = [...bench.runs.slice(0, bench.at + 1), run.digest];
  bench.at += 1;
  return run;
});

const changed = (change) => edit(({ changes = [] }) => ({ changes: [...changes, change] }));

function show(run, start) {
  bench.run = run;
  history.replaceState(null, "", "#run=" + run.digest);
  $("undo").disabled = bench.at <= 0;
  $("redo").disabled = bench.at >= bench.runs.length - 1;
  $("reset").disabled = run.digest === bench.start;
  document.title = run.title + " - ksched workbench";
  $("source").textContent = run.source;
  showChanges();
  showWeights();
  showMinor();
  showConfiguration();
  showExports();
  $("pods").replaceChildren(...run.pending.map((pod) => element("option", { value: pod })));
  answer(start);
  setTimeout(() => {
    act(showTree)();
    if (bench.object) showObject(bench.object, false).catch(closeObject);
    findings();
  }, PAGE_FIRST_MS);
}

// -- the answer -----------------------------------------------------------------------------------

let answering = new AbortController();

const answer = act(async (start = performance.now()) => {
  answering.abort();
  answering = new AbortController();
  const { signal } = answering;
  $("answer").setAttribute("aria-busy", "true");
  try {
    await answered(start, signal);
  } finally {
    if (!signal.aborted) $("answer").removeAttribute("aria-busy");
  }
});

async function answered(start, signal) {
  const other = { compare: bench.at > 0 ? bench.runs[bench.at - 1] : "", start: bench.start === bench.run.digest ? "" : bench.start };
  if (other[bench.question] === "") bench.question = "schedule";
  const { question, run } = bench, pod = $("pod").value.trim();
  if (!pod && (question === "explain" || question === "fix")) {
    $("pod").focus();
    throw new Error("name a pod, or click one in the answer");
  }
  const about = question === "schedule" ? "" : other[question] || pod;
  const page = url("/answers/" + run.digest + "/" + (question in other ? "compare" : question) + ".html", about ? { about } : {});
  document.querySelectorAll("[data-question]").forEach((choice) => {
    choice.setAttribute("aria-pressed", String(choice.dataset.question === question));
    choice.disabled = other[choice.dataset.question] === "";
  });
  await framed(page, signal);
  bench.page = page;
  showExports();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  say("Answered in " + seconds + " s: " + run.title);
  if (bench.lost) say(bench.lost, true);
  bench.lost = "";
}

// The page takes the place of the one before it when it is there, scrolled as that was.
function framed(page, signal) {
  return new Promise((resolve, reject) => {
    const before = $("frame").querySelector("iframe:not(.loading)");
    $("frame").querySelectorAll(".loading").forEach((frame) => frame.remove());
    const frame = element("iframe", { class: "loading", title: QUESTIONS[bench.question] + ": the answer", src: page });
    frame.addEventListener("load", () => {
      if (signal.aborted) return;
      const inside = frame.contentDocument;
      if (!inside || !inside.getElementById("data")) {
        frame.remove();
        reject(new Error(inside && inside.body ? inside.body.textContent.trim() : "the server does not answer"));
        return;
      }
      theme(inside);
      inside.getElementById("theme").hidden = true;
      const sheet = new frame.contentWindow.CSSStyleSheet();
      sheet.replaceSync('[data-grid="pods"] tbody td:first-child { cursor: pointer; text-decoration: underline dotted; } header, main, footer { padding-left: 8px; padding-right: 8px; }');
      inside.adoptedStyleSheets = [sheet];
      takeFiles(inside);
      inside.addEventListener("click", explainClicked);
      inside.addEventListener("node", act((event) => showObject({ kind: "Node", namespace: "", name: event.detail }, true)));
      if (before && before.dataset.question === bench.question) frame.contentWindow.scrollTo(0, before.contentWindow.scrollY);
      frame.dataset.question = bench.question;
      frame.classList.remove("loading");
      if (before) before.remove();
      resolve();
    });
    $("frame").append(frame);
  });
}

// A file that is dropped anywhere is a state, also on the answer's page.
function takeFiles(page) {
  page.addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    document.body.classList.add("dropping");
    dragged();
  });
  page.addEventListener("drop", dropped);
}

const dragged = later(() => document.body.classList.remove("dropping"), DRAG_MS);

function explainClicked(event) {
  const cell = event.target.closest('[data-grid="pods"] tbody td:first-child');
  if (cell && cell.textContent.trim()) question("explain", cell.textContent.trim());
}

function question(name, pod) {
  bench.question = name;
  if (pod) $("pod").value = pod;
  if (isNarrow()) $("answer").scrollIntoView();
  return answer();
}

// -- changes --------------------------------------------------------------------------------------

function showChanges() {
  const { applied, given } = bench.run, own = bench.run.edits.changes || [];
  const items = applied.map((change, index) => {
    const text = typeof own[index - given] === "object" ? "apply " + named(own[index - given].apply) : change.text;
    const remove = index < given ? "" : button("Remove", () => {
      edit(({ changes }) => ({ changes: changes.filter((_, place) => place !== index - given) }));
      $("change").focus();
    }, { "aria-label": "Remove " + text });
    const did = change.did.slice(0, 3).join("; ") || "nothing to do";
    const more = change.did.length > 3 ? "; and " + (change.did.length - 3).toLocaleString("en-US") + " more" : "";
    return element("li", {}, remove, element("code", {}, text), element("p", { class: "note" }, did + more));
  });
  $("changes").replaceChildren(...items);
  $("copy-changes").hidden = !own.length || own.some((change) => typeof change === "object");
}

const named = (object) => object.kind + " " + (object.metadata || {}).name;

// -- objects --------------------------------------------------------------------------------------

let listing = new AbortController();

async function listed(query, signal) {
  const { items, more } = await ask(url(ofRun("/objects"), query), undefined, signal);
  const rows = items.map((item) => item.path ? folder(item) : element("li", {}, leaf(item)));
  if (more) rows.push(element("li", { class: "note" }, "and " + more.toLocaleString("en-US") + " more: search for them"));
  return element("ul", {}, ...(rows.length ? rows : [element("li", { class: "note" }, "nothing has this name")]));
}

function leaf(item) {
  const text = item.kind === "Pod" || item.kind === "Node" ? item.name : item.kind + "/" + item.name;
  const note = item.note ? element("span", { class: item.note === "pending" ? "note pending" : "note", title: item.note }, item.note) : "";
  const current = bench.object && ["kind", "namespace", "name"].every((key) => (item[key] || "") === bench.object[key]);
  const choose = act(async () => {
    await showObject({ kind: item.kind, namespace: item.namespace || "", name: item.name }, true);
    document.querySelectorAll(".tree [aria-current]").forEach((other) => other.removeAttribute("aria-current"));
    chooser.setAttribute("aria-current", "true");
  });
  const chooser = button(text, choose, { class: "link", "aria-current": current ? "true" : null });
  const where = $("search").value && item.namespace ? element("span", { class: "note" }, "in " + item.namespace) : "";
  return element("span", {}, chooser, note, where);
}

const openFolders = new Set();

function folder(item) {
  const size = element("span", { class: "size" }, item.size.toLocaleString("en-US"));
  const details = element("details", {}, element("summary", {}, item.kind ? item.kind + "/" + item.name : item.name, size));
  const fill = act(async () => {
    if (!details.open) { openFolders.delete(item.path); return; }
    openFolders.add(item.path);
    if (!details.querySelector("ul")) details.append(await listed({ path: item.path }, listing.signal));
  });
  details.addEventListener("toggle", fill);
  details.open = openFolders.has(item.path);
  return element("li", {}, details);
}

async function showTree() {
  listing.abort();
  listing = new AbortController();
  const search = $("search").value.trim(), { signal } = listing;
  try {
    $("tree").replaceChildren(await listed(search ? { search } : {}, signal));
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

async function showObject(object, focus) {
  const { text } = await ask(url(ofRun("/object"), object));
  bench.object = object;
  const name = (object.namespace ? object.namespace + "/" : "") + object.name;
  $("object-name").textContent = object.kind + " " + name;
  if (focus || $("yaml").value === $("yaml").defaultValue) $("yaml").value = text;
  $("yaml").defaultValue = text;
  $("actions").replaceChildren(...actions(object, text));
  $("object").hidden = false;
  if (focus) $("object-name").focus();
}

// A new object is edited before it is there.
function showTemplate(kind) {
  bench.object = null;
  $("object-name").textContent = "New " + kind;
  $("yaml").value = $("yaml").defaultValue = TEMPLATES[kind];
  $("actions").replaceChildren();
  $("object").hidden = false;
  $("yaml").focus();
}

async function applied() {
  const { change } = await ask(ofRun("/change"), { ...bench.object, text: $("yaml").value });
  $("yaml").defaultValue = $("yaml").value;
  if (!await changed(change) || bench.object) return;
  closeObject();
  $("search").value = change.apply.metadata.name;
  await showTree();
}

function closeObject() {
  bench.object = null;
  $("object").hidden = true;
}

const quoted = (text) => /^[\w./:@-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";

function actions(object, text) {
  const { kind, namespace } = object, name = quoted(object.name), inside = namespace ? " -n " + quoted(namespace) : "";
  const line = (label, change) => button(label, () => changed(change));
  const begin = (label, change) => button(label, () => { $("change").value = change; $("change").focus(); });
  const target = quoted(kind.toLowerCase() + "/" + object.name);
  const remove = line("Delete", "delete " + target + inside);
  if (kind === "Node") {
    const isCordoned = /^ {2}unschedulable: true$/m.test(text);
    const why = button("Why not here", act(() => {
      const pod = $("pod").value.split(" on ")[0].trim();
      if (!pod) {
        $("pod").focus();
        throw new Error("name the pod that is not on " + object.name);
      }
      return question("explain", pod + " on " + object.name);
    }));
    return [why, line("Drain", "drain " + name), line(isCordoned ? "Uncordon" : "Cordon", (isCordoned ? "uncordon " : "cordon ") + name), begin("Taint\u2026", "taint nodes " + name + " key=value:NoSchedule"), begin("Copies\u2026", "add-nodes spare --like " + name + " --count 1"), remove];
  }
  if (kind === "Pod") {
    const key = namespace + "/" + object.name;
    return [button("Explain", () => question("explain", key)), button("Fix", () => question("fix", key)), remove];
  }
  const scales = ["Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"].includes(kind);
  return [...(scales ? [begin("Scale\u2026", "scale " + target + inside + " --replicas=")] : []), remove];
}

// -- the configuration ----------------------------------------------------------------------------

function showWeights() {
  const profiles = bench.run.weights;
  const key = JSON.stringify(profiles.map(({ profile, weights }) => [profile, Object.keys(weights)]));
  if ($("weights").dataset.key !== key) {
    $("weights").dataset.key = key;
    $("weights").replaceChildren(...profiles.map(({ profile, weights }, index) =>
      element("fieldset", {}, element("legend", {}, profile), ...Object.keys(weights).map((plugin) => slider(index, plugin)))));
  }
  $("weights").querySelectorAll("input:not([data-moving])").forEach((input) => {
    const weight = profiles[input.dataset.profile].weights[input.dataset.plugin];
    input.max = Math.max(MAX_WEIGHT, weight);
    input.value = weight;
    input.nextElementSibling.value = weight;
  });
}

function slider(profile, plugin) {
  const id = "weight-" + profile + "-" + plugin;
  const input = element("input", { type: "range", min: 1, id, "data-profile": profile, "data-plugin": plugin });
  const settle = later(() => edit(() => {
    delete input.dataset.moving;
    return ask(ofRun("/weight"), { profile, plugin, weight: Number(input.value) });
  }), SETTLE_MS);
  input.addEventListener("input", () => {
    input.dataset.moving = "";
    input.nextElementSibling.value = input.value;
    settle();
  });
  return element("div", { class: "weight" }, element("label", { for: id }, plugin), input, element("output", { for: id }));
}

function showMinor() {
  $("minor").value = bench.run.edits.kubernetesVersion || "";
  $("minor").options[0].textContent = $("minor").value ? "as at the start" : bench.run.release;
}

function showConfiguration() {
  const box = $("configuration"), { configuration } = bench.run;
  if (box.value === box.defaultValue || box.value === configuration) box.value = configuration;
  box.defaultValue = configuration;
}

const findings = act(async () => {
  const text = $("configuration").value;
  const draft = { configuration: text, kubernetesVersion: bench.run.release };
  if (JSON.stringify(draft) === bench.draft) return;
  bench.draft = JSON.stringify(draft);
  const { findings } = await ask("/api/findings", draft);
  if (text !== $("configuration").value) return;
  const worst = {};
  findings.forEach((finding) => { worst[finding.line] = worst[finding.line] || finding.severity; });
  $("lines").replaceChildren(element("ol", {}, ...text.split("\n").map((_, index) =>
    element("li", { class: worst[index + 1] || null }, String(index + 1)))));
  const errors = findings.filter((finding) => finding.severity === "error").length;
  $("verdict").textContent = errors ? errors + (errors === 1 ? " error" : " errors") : findings.length ? "Valid, with remarks" : "Valid";
  $("findings").replaceChildren(...findings.map((finding) => {
    const go = finding.line ? button("Line " + finding.line, () => toLine(finding.line), { class: "link" }) : "";
    const hint = finding.hint ? element("p", { class: "note" }, finding.hint) : "";
    const copy = button("Copy", copyOf(() => finding.message), { class: "copy" });
    return element("li", { class: finding.severity }, go, (go ? ": " : "") + finding.message + " ", copy, hint);
  }));
  scrollLines();
});

function toLine(line) {
  const box = $("configuration"), lines = box.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  box.focus();
  box.setSelectionRange(start, start + lines[line - 1].length);
  box.scrollTop = (line - 4) * 19.5;
}

function scrollLines() {
  const list = $("lines").firstElementChild;
  if (list) list.style.top = 6 - $("configuration").scrollTop + "px";
}

// -- the frame around it --------------------------------------------------------------------------

function showExports() {
  const base = "/exports/" + bench.run.digest + "/";
  const links = [["Changes: scenario.yaml", base + "scenario.yaml"], ["configuration.yaml", base + "configuration.yaml"], ["expectations.yaml", base + "expectations.yaml"]];
  if (bench.page) links.push(["This page", bench.page + "&save"], ["This answer as JSON", bench.page.replace(".html", ".json") + "&save"]);
  $("exports").replaceChildren(...links.map(([text, href]) => element("li", {}, element("a", { href, download: true }, text))));
}

function showSave(isShown) {
  $("exports").hidden = !isShown;
  $("save").setAttribute("aria-expanded", String(isShown));
}

// The answer is below the edits then.
const isNarrow = () => matchMedia("(max-width: 900px)").matches;

const isDark = () => document.documentElement.dataset.theme
  ? document.documentElement.dataset.theme === "dark"
  : matchMedia("(prefers-color-scheme: dark)").matches;

function theme(inside) {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) inside.documentElement.dataset.theme = chosen;
  inside.defaultView.dispatchEvent(new Event("theme"));
}

function later(action, milliseconds) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(action, milliseconds); };
}

function listen() {
  $("undo").addEventListener("click", () => step(-1));
  $("redo").addEventListener("click", () => step(1));
  $("reset").addEventListener("click", reset);
  $("link").addEventListener("click", act(async () => {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied. It is good while this server runs.");
  }));
  $("minor").addEventListener("change", () => edit(() => ({ kubernetesVersion: $("minor").value })));
  $("change-form").addEventListener("submit", act(async (event) => {
    event.preventDefault();
    if (await changed($("change").value)) $("change").value = "";
  }));
  $("search").addEventListener("input", later(act(showTree), SEARCH_MS));
  $("apply").addEventListener("click", act(applied));
  $("copy-yaml").addEventListener("click", act(async () => {
    await navigator.clipboard.writeText($("yaml").value);
    say("The YAML is copied.");
  }));
  $("copy-error").addEventListener("click", copyOf(() => $("error").textContent));
  $("copy-changes").addEventListener("click", act(async () => {
    await navigator.clipboard.writeText(bench.run.edits.changes.map((change) => "--change " + quoted(change)).join(" "));
    say("The changes are copied as options of ksched.");
  }));
  $("load").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => {
    if ($("file").files.length) loaded($("file").files[0]);
    $("file").value = "";
  });
  $("save").addEventListener("click", () => showSave($("exports").hidden));
  takeFiles(document);
  $("configuration").addEventListener("input", later(findings, FINDINGS_MS));
  $("configuration").addEventListener("scroll", scrollLines);
  $("apply-configuration").addEventListener("click", () => edit(() => ({ configuration: $("configuration").value })));
  $("pod").addEventListener("keydown", (event) => {
    if (event.key === "Enter") question(bench.question === "fix" ? "fix" : "explain");
  });
  document.querySelectorAll("[data-question]").forEach((choice) => choice.addEventListener("click", () => question(choice.dataset.question)));
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    $("theme").textContent = isDark() ? "Light" : "Dark";
    document.querySelectorAll("iframe").forEach((frame) => theme(frame.contentDocument));
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.matches("input:not([type=range]), textarea")) return;
    event.preventDefault();
    step(event.shiftKey ? 1 : -1);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") showSave(false); });
  addEventListener("hashchange", () => location.reload());
}

const begin = act(async () => {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (asked.get("token")) await ask("/session", asked.get("token"));
  const { run, minors, largest } = await ask("/api/start");
  bench.largest = largest;
  $("new").append(...Object.keys(TEMPLATES).map((kind) => button(kind, () => showTemplate(kind), { "aria-label": "New " + kind })));
  $("verbs").replaceChildren(...VERBS.map((value) => element("option", { value })));
  $("minor").replaceChildren(element("option", { value: "" }), ...minors.map((minor) => element("option", { value: minor }, minor)));
  $("theme").textContent = isDark() ? "Light" : "Dark";
  if (isNarrow()) document.querySelectorAll("#edit > details:not(:first-child)").forEach((details) => { details.open = false; });
  bench.start = bench.starts[""] = run.digest;
  bench.runs = [run.digest];
  bench.at = 0;
  listen();
  bench.run = run;
  const linked = asked.get("run");
  if (linked && linked !== run.digest) {
    const isThere = await opened(async () => {
      const other = await ask("/api/runs/" + linked);
      bench.runs.push(linked);
      bench.at = 1;
      return other;
    });
    if (isThere) return;
    bench.lost = $("error").textContent;
  }
  await opened(() => run);
});
begin();
})();
