// Design: a problem in; status, mechanism, certificate, or the reason why there is none, shown on the graph.
import { Drawing } from "/static/draw.js";
import { byId, call, clearErrors, download, el, keep, pictureText, restore, short, showError } from "/static/studio.js";

const form = byId("form"), status = byId("status"), field = byId("problem");
const line = (names) => names.slice(1).map((name, i) => [names[i], name]);
const cube = ["111", "112", "121", "122", "211", "212", "221", "222"];
const apart = (a, b) => [...a].filter((c, i) => c !== b[i]).length;
const EXAMPLES = {
  votes: {
    answers: ["yes", "no"], privacy: { epsilon: "ln(2)", delta: "0.1" },
    edges: cube.flatMap((a, i) => cube.slice(i + 1).filter((b) => apart(a, b) === 1).map((b) => [a, b])),
    prefers: Object.fromEntries(cube.map((name) => [name, [...name].filter((c) => c === "1").length > 1 ? "yes" : "no"])), boundary: "balanced",
  },
  line: {
    answers: ["yes", "no"], privacy: { epsilon: "ln(2)", delta: "0" }, edges: [["0", "1"], ["1", "2", { epsilon: "ln(5/4)", delta: "0" }], ["2", "3"], ["3", "4"], ["4", "5"]],
    prefers: { 0: "no", 1: "no", 2: "no", 3: "yes", 4: "yes", 5: "yes" }, boundary: "balanced",
  },
  given: {
    answers: ["blue", "red"], privacy: { epsilon: "ln(2)", delta: "0" }, edges: line(["a", "b", "c", "d", "e"]),
    prefers: { a: "blue", b: "blue", c: "blue", d: "red", e: "red" }, fixed: { c: { blue: "0.6", red: "0.4" }, d: { blue: "0.35", red: "0.65" } },
  },
  three: {
    answers: ["low", "middle", "high"], privacy: { epsilon: "ln(2)", delta: "0" }, edges: line(["a", "b", "c", "d", "e", "f"]),
    prefers: { a: ["low", "middle", "high"], b: ["low", "middle", "high"], c: ["middle", "low", "high"], d: ["middle", "high", "low"], e: ["high", "middle", "low"], f: ["high", "middle", "low"] },
    fixed: { b: { low: "0.6", middle: "0.3", high: "0.1" }, c: { low: "0.3", middle: "0.5", high: "0.2" }, d: { low: "0.2", middle: "0.5", high: "0.3" }, e: { low: "0.1", middle: "0.3", high: "0.6" } },
  },
  infeasible: {
    answers: ["blue", "red"], privacy: { epsilon: "ln(2)", delta: "0" }, edges: line(["a", "b", "c"]),
    prefers: { a: "blue", b: "blue", c: "red" }, fixed: { a: { blue: "0.1", red: "0.9" }, c: { blue: "0.9", red: "0.1" } },
  },
  none: {
    answers: ["blue", "red"], privacy: { epsilon: "ln(2)", delta: "0" }, edges: line(["a", "b", "c", "d"]),
    prefers: { a: "blue", b: "blue", c: "red", d: "red" }, fixed: { a: { blue: "0.5", red: "0.5" }, d: { blue: "0.5", red: "0.5" } },
  },
  empty: { answers: ["yes", "no"], privacy: { epsilon: "ln(2)", delta: "0" }, edges: [], prefers: {}, boundary: "balanced" },
};
let found = null, picture = null, turn = 0;

function parsed() {
  try { return JSON.parse(field.value); } catch { return null; }
}

// One dataset, edge or preference per line.
function written(problem) {
  const inside = (value, open, close) => (value.length ? `${open}\n  ${value.join(",\n  ")}\n ${close}` : open + close);
  const entries = (object) => Object.entries(object).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const text = (name, value) => (name === "edges" ? inside(value.map((edge) => JSON.stringify(edge)), "[", "]") : name === "prefers" || name === "fixed" ? inside(entries(value), "{", "}") : JSON.stringify(value));
  return `{\n ${Object.entries(problem).map(([name, value]) => `${JSON.stringify(name)}: ${text(name, value)}`).join(",\n ")}\n}`;
}

const drawing = new Drawing({
  read: parsed,
  write: (problem) => { field.value = written(problem); outdate(); },
});

// A verdict never stands beside a problem that it does not belong to; what was typed survives back and reload.
function outdate() {
  turn++;
  byId("verdict").hidden = true;
  clearErrors(form, status);
  keep("design", form);
}

async function solve() {
  clearErrors(form, status);
  byId("verdict").hidden = true;
  const mine = ++turn;
  try {
    const made = await call("design", field.value, { status, words: "Designing" });
    if (mine !== turn) return; // another problem was sent meanwhile
    found = made;
    show();
  } catch (error) {
    if (mine !== turn) return;
    drawing.view = null;
    picture = drawing.draw();
    showError(error, status, form);
  }
}

function show() {
  const { studio, witness } = found, optimal = found.status === "optimal";
  byId("verdict").hidden = false;
  byId("badge").textContent = { optimal: "✓ optimal", infeasible: "✗ infeasible", "no-optimum": "✗ no optimum" }[found.status];
  byId("badge").className = `badge ${optimal ? "good" : "bad"}`;
  byId("route").textContent = `by ${found.route.replace("-", " ")}`;
  const verdict = studio.verdict;
  const facts = [
    studio.claim && `Certificate: ${studio.claim}.`,
    verdict && `The referee says: ${verdict.private ? "private" : "NOT private"}${verdict.optimal ? ", optimal" : ""}${verdict.reason === studio.claim ? "" : `; ${verdict.reason}`}. Least ε at this δ: ${Number(verdict.epsilon).toPrecision(6)}${verdict.worst_edge.length ? `, on the edge ${verdict.worst_edge.join(" – ")}` : ""}.`,
    witness?.reason && `Why not: ${witness.reason}.`,
    !optimal && found.mechanism && "Shown is a private mechanism that nothing dominates.",
    ...(witness?.conflict ?? []).map((end) => `${end.dataset} alone could have ${end.most ?? "more"} for ${(end.answers ?? []).join(" or ")}.`),
  ].filter(Boolean);
  byId("facts").replaceChildren(...facts.map((text) => el("li", {}, text)));
  byId("python").textContent = studio.python;
  showRows(studio.rows);
  for (const id of ["save-design", "as-channel"]) byId(id).hidden = !found.mechanism;
  drawing.view = { points: studio.points, rows: studio.rows, path: witness?.path ?? [], clash: (witness?.conflict ?? []).map((end) => end.dataset), towards: towards(found.certificate) };
  drawing.points = { ...drawing.points, ...(Object.keys(drawing.points).length >= Object.keys(studio.points ?? {}).length ? {} : studio.points) };
  picture = drawing.draw();
  try { sessionStorage.setItem("design", JSON.stringify({ answers: found.answers, mechanism: found.mechanism })); } catch { /* too large, or a private window */ }
}

// From which neighbour the bound on a dataset's own favourite comes.
function towards(certificate) {
  const steps = {};
  for (const tree of certificate?.trees ?? [])
    for (const [name, from] of Object.entries(tree.predecessor)) {
      const order = found.prefers[name], favourite = Array.isArray(order) ? order[0] : order;
      if (tree.event.length === 1 && tree.event[0] === favourite) steps[name] = from;
    }
  return steps;
}

function showRows(rows) {
  if (!rows) { byId("rows").replaceChildren(el("p", { class: "note" }, "Too many to list; download the mechanism.")); return; }
  byId("rows").replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "dataset"), ...found.answers.map((a) => el("th", { scope: "col", class: "number" }, a)))),
    el("tbody", {}, ...Object.entries(rows).map(([name, row]) => el("tr", {}, el("th", { scope: "row" }, name), ...found.answers.map((a) => el("td", { class: "number" }, short(row[a]))))))));
}

function begin(problem, solveNow) {
  field.value = problem;
  outdate();
  Object.assign(drawing, { points: {}, view: null, chosen: null });
  if (solveNow) solve(); else drawing.draw();
}

form.addEventListener("submit", (event) => { event.preventDefault(); solve(); });
byId("example").addEventListener("change", (event) => begin(written(EXAMPLES[event.target.value]), event.target.value !== "empty"));
field.addEventListener("input", () => { outdate(); drawing.view = null; drawing.draw(); });
byId("upload").addEventListener("change", async (event) => { if (event.target.files[0]) begin(await event.target.files[0].text(), true); });
byId("save-problem").addEventListener("click", () => download("problem.json", field.value));
byId("save-design").addEventListener("click", () => download("mechanism.json", JSON.stringify({ ...found, studio: undefined }, null, 1)));
byId("save-picture").addEventListener("click", () => picture && download("design.svg", pictureText(picture), "image/svg+xml"));
byId("save-python").addEventListener("click", () => download("design.py", found.studio.python, "text/x-python"));
byId("as-channel").addEventListener("click", () => { location.href = "/channel#design"; });
if (restore("design", form) === null || !field.value.trim()) begin(written(EXAMPLES.votes), true);
else begin(field.value, parsed() !== null && Object.keys(parsed().prefers ?? {}).length > 0);
