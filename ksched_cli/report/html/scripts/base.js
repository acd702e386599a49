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

const MINUTE = 60, HOUR = 3600, DAY = 86400;

function elapsed(seconds) {
  if (seconds < 0) return "-" + elapsed(-seconds);
  const whole = Math.floor(seconds);
  for (const [size, unit, smaller, part] of [[DAY, "d", HOUR, "h"], [HOUR, "h", MINUTE, "m"], [MINUTE, "m", 1, "s"]]) {
    if (whole >= size) {
      const rest = Math.floor((whole % size) / smaller);
      return Math.floor(whole / size) + unit + (rest ? " " + rest + part : "");
    }
  }
  return decimal(seconds) + "s";
}

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
  duration: elapsed,
  verdict: (value) => (typeof value === "number" ? count(value) : value),
};
FORMATS.cpu = ((format) => (value) => (value === 0 ? "0" : format(value)))(FORMATS.cpu);
const shown = (kind, value) => (value === null || value === "" ? "" : FORMATS[kind](value));
const percent = (share) => {
  const rounded = Math.round(share * 100);
  if (rounded === 100 && share !== 1) return (share < 1 ? 99 : 101) + "%";
  return rounded === 0 && share > 0 ? "<1%" : rounded + "%";
};

// -- commands ---------------------------------------------------------------------------------

function addCopyButtons() {
  document.querySelectorAll("[data-copy]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copied(button.dataset.copy);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  });
}
