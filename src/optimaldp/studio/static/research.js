// Research: all datasets of a few people, or the boundary graph, and the phases of the question.
import { drawChains, drawGraph } from "/static/graph.js";
import { byId, call, capital, clearErrors, el, keep, latestOnly, restore, showError } from "/static/studio.js";

const form = byId("form"), status = byId("status");
const FIELDS = ["question", "epsilon", "delta", "n", "neighbours"];

function readSizes() {
  const pairs = byId("sizes").value.split(",").map((part) => part.split(":").map((side) => side.trim())).filter(([own]) => own);
  return Object.fromEntries(pairs.map(([own, people]) => [own, Number(people)]));
}

function asked() {
  const body = { question: byId("question").value, epsilon: byId("epsilon").value, delta: byId("delta").value || "0", neighbours: byId("neighbours").value };
  if (byId("n").value) body.n = Number(byId("n").value);
  if (byId("sizes").value.trim()) body.level_sizes = readSizes();
  return body;
}

const refresh = latestOnly(async () => {
  const body = asked();
  byId("results").classList.add("stale");
  try {
    const view = await call("universe", body, { status, words: "Computing" });
    const { phases } = await call("preview", body, { status });
    clearErrors(form, status);
    if (JSON.stringify(body) !== JSON.stringify(asked())) return; // it was changed meanwhile: the next one comes
    byId("results").classList.remove("stale");
    drawUniverse(view);
    const tau = phases.tau.length > 1 ? [el("li", { class: "plain note" }, `τ of the most wanted k answers: ${phases.tau.map((t, k) => `τ${k + 1} = ${t}`).join(", ")}`)] : [];
    byId("phases").replaceChildren(...phases.words.map((text) => el("li", {}, capital(text))), ...tau);
  } catch (error) {
    clearErrors(form, status);
    for (const id of ["graph", "phases", "graph-words"]) byId(id).replaceChildren();
    showError(error, status, form);
  }
});

function drawUniverse(view) {
  byId("graph-words").textContent = capital(view.words);
  if (view.kind === "datasets") drawGraph(byId("graph"), { ...view, height: roomFor(view.points) });
  else drawChains(byId("graph"), view);
}

// Room for the fullest layer, up to what a screen can show.
function roomFor(points) {
  const layers = {};
  for (const [x] of Object.values(points)) layers[x] = (layers[x] ?? 0) + 1;
  return Math.min(640, Math.max(260, 88 + 48 * Math.max(...Object.values(layers))));
}

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", () => { keep("research", form); refresh(); });
const wanted = new URLSearchParams(location.search);
restore("research", form);
for (const name of FIELDS) if (wanted.has(name)) byId(name).value = wanted.get(name);
if (wanted.size) { keep("research", form); history.replaceState(null, "", "/research"); } // what is typed from now on survives a reload
refresh();
