// Explore: every change asks for a preview and draws it; what belongs to other inputs is faded at once, and gone when they are wrong.
import { curves, errorBars, gainBar } from "/static/charts.js";
import { SheetForm, unitLast } from "/static/sheets.js";
import { byId, call, capital, clearErrors, download, el, keep, latestOnly, pictureText, restore, short, showError, tieSlider } from "/static/studio.js";

const form = byId("form"), status = byId("status"), results = byId("results");
let sheet = null, shown = null, picture = null, errors = false;

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
  // Of two groups who is in which may be declared public.
  const twoGroups = /\samong\s.*\samong\s/is.test(body.question);
  byId("public-part").hidden = !twoGroups;
  if (twoGroups && byId("public_groups").checked) body.public_groups = true;
  const sizes = readGroups();
  if (Object.keys(sizes).length) {
    body.level_sizes = sizes;
    if (byId("aim").value) body.aim = byId("aim").value;
  }
  return body;
}

// A result that belongs to other inputs is never left standing as if it were theirs.
function fade() {
  results.classList.add("stale");
  results.setAttribute("aria-busy", "true");
  for (const id of ["save-curve", "save-python"]) byId(id).disabled = true;
}

const refresh = latestOnly(async () => {
  const body = asked();
  fade();
  try {
    if (!body.question) throw new Error("incomplete");
    const made = await call("preview", body, { status, words: "Computing" });
    clearErrors(form, status);
    if (JSON.stringify(body) !== JSON.stringify(asked())) return; // it was changed meanwhile: the next one comes
    shown = made;
    results.hidden = false;
    results.classList.remove("stale");
    results.removeAttribute("aria-busy");
    draw();
    const { question, epsilon, delta, n, neighbours } = body;
    byId("to-research").href = `/research?${new URLSearchParams({ question, epsilon, delta, neighbours, ...(n ? { n } : {}) })}`;
  } catch (error) {
    clearErrors(form, status);
    results.hidden = true;
    if (body.question) showError(error, status, form);
    else status.replaceChildren(el("p", { class: "note" }, "Complete the question."));
  }
});

function draw() {
  const number = !shown.error && Object.keys(shown.expected_error ?? {}).length > 1;
  byId("curve-card").hidden = !shown.error && !number;
  byId("curve-title").textContent = number ? "How far off will it be?" : "How often is the answer right?";
  byId("within-part").hidden = !shown.half_width;
  byId("margin-part").hidden = !shown.error;
  byId("find-part").hidden = !shown.half_width && !shown.error;
  byId("same-table").hidden = byId("as-errors").hidden = byId("save-curve").hidden = !shown.error;
  for (const id of ["save-curve", "save-python"]) byId(id).disabled = !shown.error && !number;
  if (shown.error) drawCurve();
  else if (number) errorBars(byId("curve"), shown.expected_error);
  const facts = shown.sentences.map((text) => el("li", {}, capital(text)));
  byId("reliable").replaceChildren(...facts, ...shown.notes.map((text) => el("li", { class: "plain note" }, capital(text))),
    el("li", { class: "plain note" }, `${shown.level}; neighbours: ${shown.neighbours_words}`));
  gainBar(byId("attacker-bar"), shown.attacker.before, shown.attacker.after, "gained at most");
  byId("attacker").textContent = shown.attacker.words;
}

function drawCurve() {
  const marks = [["95 % right", shown.reliable_from["at most 5 %"]], ["always right", shown.reliable_from["0"]]];
  picture = curves(byId("curve"), {
    x: shown.margin, series: Object.entries(shown.error), marks, errors,
    xLabel: "margin: people who would have to answer differently to change the true answer",
    yLabel: errors ? "probability of a wrong answer" : "probability of the right answer",
    title: `${errors ? "error" : "accuracy"} by margin for ${shown.question}, ${shown.level}`,
  });
  drawTable();
}

function drawTable() {
  const names = Object.keys(shown.error);
  byId("table").replaceChildren(el("table", {},
    el("thead", {}, el("tr", {}, el("th", { class: "number", scope: "col" }, "margin"), ...names.map((name) => el("th", { class: "number", scope: "col" }, `${name}: error`)))),
    el("tbody", {}, ...shown.margin.map((margin, i) => el("tr", {}, el("td", { class: "number" }, String(margin)), ...names.map((name) => el("td", { class: "number" }, short(shown.error[name][i]))))))));
}

const groupRows = () => [...byId("groups").querySelectorAll(".row")].map((row) => [...row.querySelectorAll("input")].map((one) => one.value));
const remember = () => keep("explore", form, { sheet: sheet.state(), groups: groupRows() });

function changed() {
  byId("aim-part").hidden = byId("groups").children.length === 0;
  byId("found").textContent = "";
  remember();
  refresh();
}

function addGroup(epsilon = "0.2", people = "100") {
  const k = byId("groups").children.length + 1;
  const remove = () => { row.remove(); changed(); byId("add-group").focus(); };
  const row = el("div", { class: "row" },
    el("div", {}, el("label", { for: `group-epsilon-${k}` }, "ε"), el("input", { id: `group-epsilon-${k}`, value: epsilon, "data-field": k === 1 ? "level_sizes levels" : null })),
    el("div", {}, el("label", { for: `group-people-${k}` }, "people"), el("input", { id: `group-people-${k}`, type: "number", min: 1, value: people })),
    el("button", { type: "button", class: "quiet", "aria-label": `Remove group ${k}`, onclick: remove }, "×"));
  byId("groups").append(row);
  return row;
}

const follow = tieSlider(byId("slider"), byId("epsilon"));
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", (event) => {
  const id = event.target.id;
  if (["accuracy", "margin-share", "within"].includes(id)) { byId("found").textContent = ""; remember(); return; }
  if (id === "question") sheet.show("own");
  else if (id === "kind") sheet.show(byId("kind").value);
  if (sheet.sheet && event.target.closest("#kind, #sheet")) byId("question").value = sheet.text();
  changed();
});
byId("find").addEventListener("click", async () => {
  const { question, delta, neighbours, n } = asked();
  const share = (id) => String(Number((Number(byId(id).value) / 100).toPrecision(12)));
  try {
    const wanted = shown?.half_width ? { within: byId("within").value } : { accuracy: share("accuracy"), margin: share("margin-share") };
    const found = await call("epsilon", { question, delta, neighbours, n, ...wanted }, { status });
    clearErrors(form, status);
    byId("epsilon").value = found.epsilon;
    follow();
    changed();
    byId("found").textContent = capital(found.words);
  } catch (error) {
    clearErrors(form, status);
    showError(error, status, form);
  }
});
byId("add-group").addEventListener("click", () => { addGroup().querySelector("input").focus(); changed(); });
byId("as-errors").addEventListener("click", (event) => {
  errors = !errors;
  event.target.setAttribute("aria-pressed", String(errors));
  if (shown) draw();
});
byId("save-curve").addEventListener("click", () => picture && download("accuracy.svg", pictureText(picture), "image/svg+xml"));
byId("save-python").addEventListener("click", () => shown && download("preview.py", shown.snippet, "text/x-python"));

async function start() {
  const [{ sheets }, session] = await Promise.all([call("sheets", null, { status, words: "Starting" }), call("session", null).catch(() => null)]);
  const columns = session?.ledger ? unitLast(session.data.columns, session.ledger.unit) : null; // with a table open, the questions are about its columns
  sheet = new SheetForm({ place: byId("sheet"), select: byId("kind"), note: byId("sheet-note"), sheets, columns });
  byId("of-table").textContent = columns ? `About ${session.data.words}. Nothing is read or spent here.` : "";
  const kept = restore("explore", form);
  if (kept) {
    sheet.restore(kept.sheet);
    for (const [epsilon, people] of kept.groups) addGroup(epsilon, people);
    byId("aim-part").hidden = kept.groups.length === 0;
  } else sheet.show(sheets[0].name);
  if (sheet.sheet) byId("question").value = sheet.text();
  follow();
  refresh();
}
start();
