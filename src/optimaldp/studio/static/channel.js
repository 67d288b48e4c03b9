// Channel: a matrix in, a heat map and a leakage report out; or the best private mechanism for a prior.
import { gainBar, heatMap } from "/static/charts.js";
import { byId, call, clearErrors, download, el, keep, restore, showError } from "/static/studio.js";

const form = byId("form"), best = byId("optimal"), status = byId("status");
const EXAMPLE = "3/4  1/4\n1/4  3/4";
let result = null, turn = 0, shownFor = null;
const desk = document.querySelector(".split"), remember = (last) => keep("channel", desk, { last });

// JSON as it is; anything else as rows of numbers, separated by blanks, commas or tabs.
function channelText(text) {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{")) {
    const rows = trimmed.split(/[\n;]+/).map((row) => row.trim().split(/[\s,]+/).filter(Boolean)).filter((row) => row.length);
    return { rows };
  }
  let document_;
  try { document_ = JSON.parse(trimmed); } catch { return trimmed; } // the server says where it is broken
  return document_.mechanism ? fromDesign(document_) : document_;
}

function fromDesign(design) {
  const inputs = Object.keys(design.mechanism), outputs = design.answers ?? Object.keys(design.mechanism[inputs[0]]);
  return { inputs, outputs, rows: inputs.map((name) => outputs.map((answer) => design.mechanism[name][answer] ?? 0)), prior: null };
}

function withPrior(channel) {
  const prior = byId("prior").value.trim();
  if (typeof channel === "string" || prior === "" || prior === "uniform") return channel;
  return { ...channel, prior: prior.split(/[\s,]+/).filter(Boolean) };
}

// A result never stands beside a matrix or a wish that it does not belong to.
function outdate() {
  byId("result").hidden = byId("report").hidden = true;
  for (const one of [form, best]) clearErrors(one, status);
}

function begin(which) {
  outdate();
  shownFor = which;
  remember(which.id);
  return ++turn;
}

async function measure() {
  const mine = begin(form);
  try {
    const channel = withPrior(channelText(byId("matrix").value));
    const report = await call("leakage", channel, { status, words: "Measuring" });
    if (mine !== turn) return; // another one was sent meanwhile
    show(channel, report, "The channel");
    byId("claim").textContent = "";
  } catch (error) { if (mine === turn) showError(error, status, form); }
}

function show(channel, report, title) {
  result = channel;
  byId("result").hidden = byId("report").hidden = false;
  byId("result-title").textContent = `${title}: ${report.studio.inputs.length} inputs × ${report.studio.outputs.length} outputs`;
  heatMap(byId("heat"), report.studio);
  gainBar(byId("bar"), report.bayes_success_prior, report.bayes_success_posterior);
  byId("words").replaceChildren(...report.studio.words.map((text) => el("li", {}, text)));
  const measures = Object.entries(report).filter(([name]) => name !== "studio");
  byId("measures").replaceChildren(...measures.flatMap(([name, value]) => [el("dt", {}, name.replaceAll("_", " ")), el("dd", {}, String(value))]));
}

async function findBest() {
  const mine = begin(best);
  try {
    const body = { graph: byId("graph").value, epsilon: byId("epsilon").value, prior: byId("belief").value || "uniform", gain: byId("gain").value };
    const found = await call("optimal", body, { status, words: "Searching" });
    const channel = { inputs: found.inputs, outputs: found.outputs, rows: found.rows, prior: found.prior };
    const report = await call("leakage", channel, { status, words: "Measuring" });
    if (mine !== turn) return;
    show(channel, report, "The best mechanism");
    byId("claim").textContent = `Utility ${found.studio.utility.toPrecision(6)}: ${found.claim}.`;
  } catch (error) { if (mine === turn) showError(error, status, best); }
}

form.addEventListener("submit", (event) => { event.preventDefault(); measure(); });
best.addEventListener("submit", (event) => { event.preventDefault(); findBest(); });
byId("save").addEventListener("click", () => download("channel.json", JSON.stringify(result, null, 1)));
byId("upload").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (file) { byId("matrix").value = await file.text(); measure(); }
});

let stored = null;
try { stored = sessionStorage.getItem("design"); } catch { /* private window */ }
if (stored) {
  byId("from-design").hidden = false;
  byId("from-design").addEventListener("click", () => { byId("matrix").value = stored; measure(); });
}
for (const one of [form, best]) one.addEventListener("input", () => { if (shownFor === one) { turn++; outdate(); } remember(shownFor?.id); });

const kept = restore("channel", desk);
if (stored && location.hash === "#design") byId("matrix").value = stored;
else if (!byId("matrix").value.trim()) byId("matrix").value = EXAMPLE;
if (kept?.last === "optimal" && location.hash !== "#design") findBest(); else measure();
