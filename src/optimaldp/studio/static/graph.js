// A graph of datasets: marks by the true answer, shades by its probability, paths towards the boundary.
import { inkOn, ramp, shadeText } from "/static/charts.js";
import { el, percent, short, svg } from "/static/studio.js";

// One mark for each answer, so that colour is never alone.
const MARKS = [
  (r) => svg("circle", { r }),
  (r) => svg("rect", { x: -r * 0.9, y: -r * 0.9, width: 1.8 * r, height: 1.8 * r, rx: r / 8 }),
  (r) => svg("path", { d: `M0 ${-1.2 * r}L${1.15 * r} ${0.8 * r}L${-1.15 * r} ${0.8 * r}Z` }),
  (r) => svg("path", { d: `M0 ${-1.3 * r}L${1.2 * r} 0L0 ${1.3 * r}L${-1.2 * r} 0Z` }),
  (r) => svg("path", { d: `M0 ${1.2 * r}L${1.15 * r} ${-0.8 * r}L${-1.15 * r} ${-0.8 * r}Z` }),
];
export const mark = (k, r) => MARKS[k % MARKS.length](r);

const rowWords = (row) => Object.entries(row ?? {}).map(([answer, p]) => `${answer} ${short(p)}`).join(", ");

const clipped = (text) => (text.length > 14 ? `${text.slice(0, 13)}…` : text);

// The least distance between two points: marks must not cover each other.
function closest(places) {
  let least = Infinity;
  places.forEach(([x, y], i) => { for (const [u, v] of places.slice(0, i)) least = Math.min(least, Math.hypot(x - u, y - v)); });
  return least;
}

function pathFrom(name, towards) {
  const path = [name];
  while (towards[path[path.length - 1]] !== undefined && path.length < 1000) path.push(towards[path[path.length - 1]]);
  return path;
}

// vertices: {name: {row, truth, distance}}; points in a unit box; towards: the next dataset on the binding path.
export function drawGraph(place, { answers, points, edges, vertices, towards = {}, path = [], clash = [], edgeWords = null, onVertex = null, onEdge = null, onEmpty = null, chosen = null, height = 420, labels = null, most = 21 }) {
  const W = Math.min(720, Math.max(320, place.clientWidth || 720)), H = height, pad = W < 480 ? 28 : 44; // a unit is a pixel: letters keep their size on a phone
  const at = (name) => [pad + (W - 2 * pad) * points[name][0], pad + (H - 2 * pad) * points[name][1]];
  const names = Object.keys(vertices).filter((name) => points[name]);
  const radius = Math.max(4, Math.min(most, 0.44 * closest(names.map(at))));
  // A name that the mark below would cover is not written: the readout has it.
  const covered = (x, y) => names.some((other) => { const [u, v] = at(other); return v > y + 1 && v - y < 2 * radius + 17 && Math.abs(u - x) < radius + 20; });
  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "graph", role: "group", "aria-label": `graph of ${names.length} datasets` });
  const readout = el("p", { class: "readout", "aria-live": "polite" }, names.length ? "Point at a dataset, or focus one and use the arrow keys." : "");
  const steps = new Set(), between = (a, b) => [a, b].sort().join("\n");
  for (let i = 1; i < path.length; i++) steps.add(between(path[i - 1], path[i]));
  const lines = new Map();
  edges.forEach(([a, b], i) => {
    if (!points[a] || !points[b]) return;
    const [x1, y1] = at(a), [x2, y2] = at(b);
    const pressed = chosen?.edge === i ? " chosen" : "";
    const line = svg("line", { x1, y1, x2, y2, class: `edge${steps.has(between(a, b)) ? " path" : ""}${pressed}${edgeWords?.[i]?.strict ? " strict" : ""}` });
    if (edgeWords?.[i]) line.append(svg("title", {}, `${a} – ${b}: ${edgeWords[i].words}`));
    lines.set(between(a, b), line);
    picture.append(line);
    if (onEdge) picture.append(svg("line", { x1, y1, x2, y2, class: "hit", onclick: (event) => { event.stopPropagation(); onEdge(i); } }, svg("title", {}, `${a} – ${b}`)));
  });
  const marks = new Map();
  const highlight = (name) => {
    for (const one of picture.querySelectorAll(".hover")) one.classList.remove("path", "hover");
    const way = pathFrom(name, towards), one = vertices[name];
    way.forEach((step, i) => {
      if (i === 0) return;
      for (const part of [marks.get(step), lines.get(between(way[i - 1], step))]) if (part && !part.classList.contains("path")) part.classList.add("path", "hover");
    });
    const distance = Number.isInteger(one.distance) ? `, distance ${one.distance} from the boundary` : "";
    const bound = way.length > 1 ? `; bound by the path ${way.join(" → ")}` : "";
    readout.textContent = `${name}${one.truth ? `: true answer ${one.truth}` : ""}${distance}${one.row ? `; answers ${rowWords(one.row)}` : ""}${bound}`;
  };
  names.forEach((name, i) => {
    const one = vertices[name], [x, y] = at(name), k = Math.max(0, answers.indexOf(one.truth));
    const value = one.row?.[one.truth] ?? null;
    const shape = mark(k, radius);
    shape.setAttribute("class", "mark");
    shape.setAttribute("fill", value === null ? "var(--card)" : shadeText(value));
    const label = `${name}, true answer ${one.truth}${one.row ? `, answers ${rowWords(one.row)}` : ""}`;
    const classes = ["vertex", path.includes(name) ? "path" : "", clash.includes(name) ? "clash" : "", chosen?.vertex === name ? "chosen" : ""].join(" ");
    const group = svg("g", { class: classes, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, tabindex: i === 0 ? 0 : -1, role: onVertex ? "button" : "img", "aria-label": label, "data-name": name }, shape);
    if (value !== null && radius >= 12) group.append(svg("text", { class: "inside", fill: inkOn(value) }, percent(Math.round(value * 100) / 100).replace(" %", "")));
    if (group.querySelector(".inside")) group.querySelector(".inside").style.fill = inkOn(value);
    if (radius >= 12 && !covered(x, y)) group.append(svg("text", { class: "name halo", y: radius + 15 }, clipped(labels?.[name] ?? name)));
    group.addEventListener("pointerenter", () => highlight(name));
    group.addEventListener("focus", () => highlight(name));
    group.addEventListener("click", (event) => { event.stopPropagation(); onVertex?.(name); });
    group.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step) { event.preventDefault(); marks.get(names[(i + step + names.length) % names.length]).focus(); }
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onVertex?.(name); }
    });
    marks.set(name, group);
    picture.append(group);
  });
  if (onEmpty) picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    onEmpty([((event.clientX - box.left) / box.width * W - pad) / (W - 2 * pad), ((event.clientY - box.top) / box.height * H - pad) / (H - 2 * pad)]);
  });
  const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("data-name") : null;
  place.replaceChildren(picture, graphLegend(answers, names.some((name) => vertices[name].row)), readout);
  if (focused !== null) marks.get(focused)?.focus(); // who works by keyboard stays where they were
  return picture;
}

function graphLegend(answers, shaded) {
  const rows = answers.slice(0, 5).map((answer, k) => {
    const shape = mark(k, 5);
    shape.setAttribute("fill", "none");
    shape.setAttribute("class", "s6");
    return el("li", {}, svg("svg", { viewBox: "-17 -7 34 14", "aria-hidden": "true" }, shape), `true answer ${answer}`);
  });
  return el("div", {}, el("ul", { class: "legend" }, ...rows), shaded ? ramp("probability of the true answer") : null);
}

// The boundary graph: one chain for each answer; the heads are joined where regions touch.
export function drawChains(place, { answers, chains, more }) {
  const points = {}, vertices = {}, edges = [], towards = {}, labels = {};
  const two = answers.length === 2;
  answers.forEach((answer, k) => chains[answer].forEach((probability, t) => {
    const name = `${answer}, ${t}`, n = chains[answer].length;
    const far = t / Math.max(1, n - 1);
    points[name] = two ? [k === 0 ? 0.465 - 0.465 * far : 0.535 + 0.465 * far, 0.5] : [far, answers.length > 1 ? k / (answers.length - 1) : 0.5];
    const others = answers.length > 1 ? (1 - probability) / (answers.length - 1) : 0;
    vertices[name] = { truth: answer, distance: t, row: two ? Object.fromEntries(answers.map((a) => [a, a === answer ? probability : others])) : { [answer]: probability } };
    labels[name] = t === 0 ? clipped(answer) : String(t);
    if (t > 0) { edges.push([`${answer}, ${t - 1}`, name]); towards[name] = `${answer}, ${t - 1}`; }
    else answers.slice(0, k).forEach((other) => edges.push([`${other}, 0`, name]));
  }));
  const picture = drawGraph(place, { answers, points, edges, vertices, towards, labels, most: two ? 18 : 20, height: two ? 130 : 88 + 76 * (answers.length - 1) });
  if (more) place.append(el("p", { class: "note" }, `and ${more} more answers, each with a chain like these`));
  return picture;
}
