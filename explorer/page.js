"use strict";
// Tabs, panning and zooming of graphs, links from kernels in the graph to their text, and source lines beside their instructions.
const tabs = [...document.querySelectorAll("nav button")];
function show(name) {
  for (const tab of tabs) tab.setAttribute("aria-selected", tab.dataset.tab === name);
  for (const section of document.querySelectorAll("section")) section.classList.toggle("shown", section.id === name);
}
function follow() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const section = target?.closest("section");
  if (!section) return;
  show(section.id);
  if (target.tagName === "DETAILS") target.open = true;
  if (target === section) scrollTo(0, 0); else target.scrollIntoView();
}
for (const tab of tabs) tab.addEventListener("click", () => { location.hash = tab.dataset.tab; });
addEventListener("hashchange", follow);
if (location.hash) follow(); else show(tabs[0].dataset.tab);

for (const canvas of document.querySelectorAll(".canvas")) {
  const svg = canvas.querySelector("svg"), view = svg.viewBox.baseVal;
  const width = innerWidth - 50, height = innerHeight * 0.74;
  if (view.width > width || view.height > height) {  // begin at the top, at a scale at which text can be read
    view.x += (view.width - width) / 2;
    view.width = width; view.height = height;
  }
  let last = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = svg.getBoundingClientRect(), factor = Math.exp(event.deltaY / 400);
    const x = view.x + view.width * (event.clientX - box.left) / box.width, y = view.y + view.height * (event.clientY - box.top) / box.height;
    view.x = x - (x - view.x) * factor; view.y = y - (y - view.y) * factor;
    view.width *= factor; view.height *= factor;
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { last = event; });
  addEventListener("pointerup", () => { last = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    const box = svg.getBoundingClientRect(), scale = Math.max(view.width / box.width, view.height / box.height);
    view.x -= (event.clientX - last.clientX) * scale; view.y -= (event.clientY - last.clientY) * scale;
    last = event;
  });
  for (const node of svg.querySelectorAll(".node")) node.addEventListener("click", () => {
    const number = node.dataset.node, on = !node.classList.contains("picked");
    for (const other of svg.querySelectorAll(".picked")) other.classList.remove("picked");
    if (!on) return;
    node.classList.add("picked");
    for (const edge of svg.querySelectorAll(`.edge[data-from="${number}"], .edge[data-to="${number}"]`)) edge.classList.add("picked");
  });
  for (const cluster of svg.querySelectorAll(".cluster")) cluster.querySelector("text").addEventListener("click", () => {
    if (cluster.dataset.kernel) location.hash = "kernel-" + cluster.dataset.kernel;
  });
}

for (const panes of document.querySelectorAll(".panes")) panes.addEventListener("mouseover", (event) => {
  const line = event.target.closest("[data-line]");
  for (const other of panes.querySelectorAll(".lit")) other.classList.remove("lit");
  if (!line) return;
  for (const same of panes.querySelectorAll(`[data-line="${CSS.escape(line.dataset.line)}"]`)) same.classList.add("lit");
});
document.documentElement.dataset.ready = "true";
