// Drawing a problem: clicks change the problem file in the text field, which stays the one truth.
import { drawGraph } from "/static/graph.js";
import { byId, el } from "/static/studio.js";

const HINTS = {
  choose: "Choose a dataset or an edge to change it. With the keyboard: Tab to the picture, arrow keys, Enter.",
  vertex: "Click where the new dataset shall stand, or press Enter on this button again to add one anywhere.",
  edge: "Choose two datasets one after the other: they become neighbours.",
};

export class Drawing {
  // *read* gives the problem or null, *write* takes a changed one; *view* holds what the server said about the last design.
  constructor({ read, write }) {
    Object.assign(this, { read, write, mode: "choose", chosen: null, first: null, points: {}, view: null });
    for (const mode of ["choose", "vertex", "edge"]) byId(`mode-${mode}`).addEventListener("click", () => {
      if (mode === "vertex" && this.mode === "vertex") this.addVertex(this.freePlace());
      this.setMode(mode);
    });
    byId("tidy").addEventListener("click", () => { this.points = this.view?.points ? { ...this.view.points } : {}; this.draw(); });
    this.setMode("choose");
  }

  setMode(mode) {
    this.mode = mode;
    this.first = null;
    for (const one of ["choose", "vertex", "edge"]) byId(`mode-${one}`).setAttribute("aria-pressed", String(one === mode));
    byId("hint").textContent = HINTS[mode];
  }

  freePlace() {
    const k = Object.keys(this.read()?.prefers ?? {}).length;
    return [0.5 + 0.4 * Math.cos(2.4 * k), 0.5 + 0.4 * Math.sin(2.4 * k)];
  }

  change(edit) {
    const problem = this.read();
    if (!problem) return;
    problem.prefers ??= {};
    problem.edges ??= [];
    edit(problem);
    this.view = null;
    this.write(problem);
    this.draw();
  }

  addVertex(place) {
    this.change((problem) => {
      let k = Object.keys(problem.prefers).length + 1;
      while (problem.prefers[`d${k}`]) k++;
      const answers = problem.answers ?? ["yes", "no"];
      problem.prefers[`d${k}`] = answers.length === 2 ? answers[0] : answers;
      this.points[`d${k}`] = place.map((x) => Math.min(1, Math.max(0, x)));
      this.chosen = { vertex: `d${k}` };
    });
  }

  pick(name) {
    if (this.mode !== "edge") { this.chosen = { vertex: name }; this.draw(); return; }
    if (this.first === null || this.first === name) { this.first = name; this.chosen = { vertex: name }; this.draw(); return; }
    const from = this.first;
    this.first = null;
    this.change((problem) => { problem.edges.push([from, name]); this.chosen = { edge: problem.edges.length - 1 }; });
  }

  draw() {
    const problem = this.read();
    if (!problem || typeof problem.prefers !== "object" || !Array.isArray(problem.edges)) return null;
    const answers = problem.answers ?? [], vertices = {};
    Object.entries(problem.prefers).forEach(([name, order], i) => {
      const total = Object.keys(problem.prefers).length;
      this.points[name] ??= this.view?.points?.[name] ?? [0.5 + 0.5 * Math.cos((2 * Math.PI * i) / total), 0.5 + 0.5 * Math.sin((2 * Math.PI * i) / total)];
      vertices[name] = { truth: Array.isArray(order) ? order[0] : order, row: this.view?.rows?.[name] ?? null };
    });
    if (Object.keys(vertices).length > 400) { byId("canvas").replaceChildren(el("p", { class: "note" }, "More than 400 datasets: too many to draw.")); return null; }
    const words = problem.edges.map((edge) => (edge[2] ? { words: JSON.stringify(edge[2]), strict: true } : { words: "the default level" }));
    const labels = Object.fromEntries(Object.keys(problem.fixed ?? {}).map((name) => [name, `${name} (given)`]));
    const { path = [], clash = [], towards = {} } = this.view ?? {};
    const picture = drawGraph(byId("canvas"), {
      answers, points: this.points, edges: problem.edges, vertices, path, clash, towards, edgeWords: words, labels, chosen: this.chosen,
      onVertex: (name) => this.pick(name), onEdge: (i) => { this.chosen = { edge: i }; this.draw(); },
      onEmpty: (place) => { if (this.mode === "vertex") this.addVertex(place); },
    });
    this.edit(problem);
    return picture;
  }

  edit(problem) {
    const place = byId("editor");
    if (this.chosen?.vertex && problem.prefers[this.chosen.vertex] !== undefined) place.replaceChildren(this.vertexForm(problem, this.chosen.vertex));
    else if (this.chosen?.edge !== undefined && problem.edges[this.chosen.edge]) place.replaceChildren(this.edgeForm(problem, this.chosen.edge));
    else place.replaceChildren();
  }

  vertexForm(problem, name) {
    const answers = problem.answers ?? [], order = problem.prefers[name];
    const wanted = el("input", { id: "edit-prefers", value: Array.isArray(order) ? order.join(" > ") : order });
    const fixed = el("input", { id: "edit-fixed", value: answers.map((a) => problem.fixed?.[name]?.[a] ?? "").join(", ").replace(/^[, ]*$/, ""), placeholder: answers.map(() => "free").join(", ") });
    const label = el("input", { id: "edit-name", value: name });
    const apply = () => this.change((p) => {
      const words = wanted.value.split(">").map((w) => w.trim());
      const numbers = fixed.value.split(",").map((w) => w.trim());
      const fresh = label.value.trim() || name;
      const rename = (x) => (x === name ? fresh : x);
      p.prefers = Object.fromEntries(Object.entries(p.prefers).map(([k, v]) => [rename(k), k === name ? (words.length === 1 ? words[0] : words) : v]));
      p.edges = p.edges.map(([a, b, ...level]) => [rename(a), rename(b), ...level]);
      const given = Object.fromEntries(Object.entries(p.fixed ?? {}).filter(([k]) => k !== name));
      if (numbers.some(Boolean)) given[fresh] = Object.fromEntries(answers.map((a, i) => [a, numbers[i] || "0"]));
      if (Object.keys(given).length) { p.fixed = given; delete p.boundary; } else { delete p.fixed; p.boundary = "balanced"; }
      this.points[fresh] = this.points[name];
      this.chosen = { vertex: fresh };
    });
    const remove = () => this.change((p) => {
      delete p.prefers[name];
      if (p.fixed) delete p.fixed[name];
      p.edges = p.edges.filter(([a, b]) => a !== name && b !== name);
      this.chosen = null;
    });
    return el("fieldset", {}, el("legend", {}, `Dataset ${name}`), el("div", { class: "row" },
      el("div", {}, el("label", { for: "edit-name" }, "Name"), label), el("div", {}, el("label", { for: "edit-prefers" }, "Prefers ", el("small", {}, "most wanted first, with >")), wanted),
      el("div", {}, el("label", { for: "edit-fixed" }, "Given ", el("small", {}, answers.join(", "))), fixed)),
    el("div", { class: "tools" }, el("button", { type: "button", onclick: apply, id: "edit-apply" }, "Apply"), el("button", { type: "button", class: "quiet", onclick: remove }, "Remove dataset")), this.edgeList(problem, name));
  }

  // Edges by name, for those who do not point.
  edgeList(problem, name) {
    const mine = problem.edges.map(([a, b], i) => [a, b, i]).filter(([a, b]) => a === name || b === name);
    const open = (i) => { this.chosen = { edge: i }; this.draw(); byId("edit-epsilon").focus(); };
    return el("div", { class: "tools" }, mine.length ? "Edges: " : "No edges yet.", ...mine.map(([a, b, i]) => el("button", { type: "button", class: "quiet", onclick: () => open(i) }, `${a} – ${b}`)));
  }

  edgeForm(problem, i) {
    const [from, to, level] = problem.edges[i];
    const epsilon = el("input", { id: "edit-epsilon", value: level?.epsilon ?? "", placeholder: problem.privacy?.epsilon ?? "" });
    const delta = el("input", { id: "edit-delta", value: level?.delta ?? "", placeholder: problem.privacy?.delta ?? "0" });
    const apply = () => this.change((p) => {
      p.edges[i] = epsilon.value === "" ? [from, to] : [from, to, { epsilon: epsilon.value, delta: delta.value || "0" }];
    });
    const remove = () => this.change((p) => { p.edges.splice(i, 1); this.chosen = null; });
    return el("fieldset", {}, el("legend", {}, `Edge ${from} – ${to}`), el("div", { class: "row" },
      el("div", {}, el("label", { for: "edit-epsilon" }, "ε ", el("small", {}, "empty: the default")), epsilon), el("div", {}, el("label", { for: "edit-delta" }, "δ"), delta)),
    el("div", { class: "tools" }, el("button", { type: "button", onclick: apply, id: "edit-apply" }, "Apply"), el("button", { type: "button", class: "quiet", onclick: remove }, "Remove edge")));
  }
}
