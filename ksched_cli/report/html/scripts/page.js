// -- the page -------------------------------------------------------------------------------------

function addThemeButton() {
  const button = document.getElementById("theme"), root = document.documentElement;
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); dispatchEvent(new Event("theme")); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("theme")));
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

// What scrolls sideways is reached by keys too.
function focusScrolling() {
  document.querySelectorAll(".wide").forEach((host) => {
    if (host.scrollWidth > host.clientWidth) host.setAttribute("tabindex", 0); else host.removeAttribute("tabindex");
  });
}

document.querySelectorAll("[data-grid]").forEach((host) => {
  grids[host.dataset.grid] = new Grid(host, data.grids[host.dataset.grid]);
});
document.querySelectorAll("[data-curves]").forEach((host) => {
  new Curves(host, data.curves[host.dataset.curves]);
});
if (data.gantt) new Gantt(document.querySelector("[data-gantt]"), data.gantt);
if (data.map) new (data.map.names.length > DRAWN ? DrawnNodeMap : NodeMap)(document.getElementById("map"), data.map);
if (data.pair) new Pair(document.getElementById("pair"), data.pair);
addThemeButton();
addCopyButtons();
listenForPrinting();
focusScrolling();
addEventListener("resize", focusScrolling);
document.addEventListener("toggle", focusScrolling, true);
