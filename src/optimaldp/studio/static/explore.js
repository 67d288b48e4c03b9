// Explore: every change asks for a preview and draws it.
import { curves, gainBar } from "/static/charts.js";
import { byId, call, clearErrors, download, el, latestOnly, pictureText, short, showError } from "/static/studio.js";

const form = byId("form"), status = byId("status");
let shown = null, picture = null, errors = false;

const options = (count) => Array.from({ length: count }, (_, i) => `'option ${i + 1}'`).join(", ");
const bins = (count) => Array.from({ length: count + 1 }, (_, i) => 10 * i).join(", ");
// kind: [label of the number, its default, text of the question]
const KINDS = {
  majority: [null, 0, () => "majority(answer = 'yes')"],
  share: ["At least … %", 30, (x) => `share(answer = 'yes') >= ${Number((x / 100).toPrecision(12))}`],
  count: ["At least … people", 100, (x) => `count(answer = 'yes') >= ${x}`],
  compare: [null, 0, () => "compare(vote, 'a', 'b')"],
  winner: ["Number of options", 3, (x) => `winner(vote, [${options(x)}])`],
  median: ["Number of bands", 4, (x) => `median(age, bins=[${bins(x)}])`],
  quantile: ["Number of bands", 4, (x) => `quantile(age, 0.9, bins=[${bins(x)}])`],
  own: [null, 0, null],
};

function writeQuestion() {
  const [label, , text] = KINDS[byId("kind").value];
  byId("number-part").hidden = label === null;
  byId("number-label").textContent = label ?? "";
  const number = Number(byId("number").value);
  const counted = ["winner", "median", "quantile"].includes(byId("kind").value);
  if (text) byId("question").value = text(counted ? Math.min(50, Math.max(2, Math.round(number))) : number);
}

function readGroups() {
  const sizes = {};
  for (const row of byId("groups").querySelectorAll(".row")) {
    const [epsilon, people] = row.querySelectorAll("input");
    sizes[epsilon.value] = (sizes[epsilon.value] ?? 0) + Number(people.value);
  }
  // Everybody else has the level of the release.
  const rest = Number(byId("n").value) - Object.values(sizes).reduce((sum, size) => sum + size, 0), epsilon = byId("epsilon").value;
  if (Object.keys(sizes).length && rest > 0) sizes[epsilon] = (sizes[epsilon] ?? 0) + rest;
  return sizes;
}

function asked() {
  const body = { question: byId("question").value, epsilon: byId("epsilon").value, delta: byId("delta").value || "0", neighbours: byId("neighbours").value };
  if (byId("n").value) body.n = Number(byId("n").value);
  const sizes = readGroups();
  if (Object.keys(sizes).length) body.level_sizes = sizes;
  return body;
}

const refresh = latestOnly(async () => {
  try {
    const body = asked();
    const made = await call("preview", body, { status, words: "Computing" });
    clearErrors(form, status);
    shown = made;
    byId("results").classList.remove("stale");
    draw();
    const { question, epsilon, delta, n, neighbours } = body;
    byId("to-research").href = `/research?${new URLSearchParams({ question, epsilon, delta, neighbours, ...(n ? { n } : {}) })}`;
  } catch (error) {
    clearErrors(form, status);
    byId("results").classList.add("stale"); // what is shown belongs to other inputs
    showError(error, status, form);
  }
});

function draw() {
  const marks = [["95 % right", shown.reliable_from["at most 5 %"]], ["always right", shown.reliable_from["0"]]];
  picture = curves(byId("curve"), {
    x: shown.margin, series: Object.entries(shown.error), marks, errors,
    xLabel: "margin: people who would have to answer differently to change the true answer",
    yLabel: errors ? "probability of a wrong answer" : "probability of the right answer",
    title: `${errors ? "error" : "accuracy"} by margin for ${shown.question}, ${shown.level}`,
  });
  drawTable();
  const facts = shown.sentences.map((text) => el("li", {}, capital(text)));
  byId("reliable").replaceChildren(...facts, ...shown.notes.map((text) => el("li", { class: "plain note" }, text)),
    el("li", { class: "plain note" }, `${shown.level}; neighbours: ${shown.neighbours_words}`));
  gainBar(byId("attacker-bar"), shown.attacker.before, shown.attacker.after, "gained at most");
  byId("attacker").textContent = shown.attacker.words;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function drawTable() {
  const names = Object.keys(shown.error);
  byId("table").replaceChildren(el("table", {},
    el("thead", {}, el("tr", {}, el("th", { class: "number", scope: "col" }, "margin"), ...names.map((name) => el("th", { class: "number", scope: "col" }, `${name}: error`)))),
    el("tbody", {}, ...shown.margin.map((margin, i) => el("tr", {}, el("td", { class: "number" }, String(margin)), ...names.map((name) => el("td", { class: "number" }, short(shown.error[name][i]))))))));
}

function addGroup(epsilon = "0.2", people = "100") {
  const k = byId("groups").children.length + 1;
  const row = el("div", { class: "row" },
    el("div", {}, el("label", { for: `group-epsilon-${k}` }, "ε"), el("input", { id: `group-epsilon-${k}`, value: epsilon, "data-field": k === 1 ? "level_sizes levels" : null })),
    el("div", {}, el("label", { for: `group-people-${k}` }, "people"), el("input", { id: `group-people-${k}`, type: "number", min: 1, value: people })),
    el("button", { type: "button", class: "quiet", "aria-label": `Remove group ${k}`, onclick: () => { row.remove(); refresh(); } }, "×"));
  byId("groups").append(row);
}

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", (event) => {
  const id = event.target.id;
  if (["accuracy", "margin"].includes(id)) return;
  if (id === "slider") byId("epsilon").value = String(Number((10 ** Number(event.target.value)).toPrecision(3)));
  if (id === "epsilon" && Number(event.target.value) > 0) byId("slider").value = Math.log10(Number(event.target.value));
  if (id === "question") { byId("kind").value = "own"; byId("number-part").hidden = true; }
  if (id === "kind") byId("number").value = KINDS[event.target.value][1];
  if (id === "kind" || id === "number") writeQuestion();
  refresh();
});
byId("find").addEventListener("click", async () => {
  const body = asked();
  delete body.epsilon;
  delete body.level_sizes;
  const share = (id) => String(Number((Number(byId(id).value) / 100).toPrecision(12)));
  try {
    const found = await call("epsilon", { ...body, accuracy: share("accuracy"), margin: share("margin") }, { status });
    clearErrors(form, status);
    byId("epsilon").value = found.epsilon;
    byId("slider").value = Math.log10(Number(found.epsilon));
    byId("found").textContent = capital(found.words);
    refresh();
  } catch (error) {
    clearErrors(form, status);
    showError(error, status, form);
  }
});
byId("add-group").addEventListener("click", () => { addGroup(); refresh(); });
byId("as-errors").addEventListener("click", (event) => {
  errors = !errors;
  event.target.setAttribute("aria-pressed", String(errors));
  if (shown) draw();
});
byId("save-curve").addEventListener("click", () => picture && download("accuracy.svg", pictureText(picture), "image/svg+xml"));
byId("save-python").addEventListener("click", () => shown && download("preview.py", shown.snippet, "text/x-python"));
writeQuestion();
refresh();
