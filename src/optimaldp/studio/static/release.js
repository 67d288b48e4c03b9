// Release: columns by name and type, a public preview, a confirmed spend, one private answer.
import { answerBars, curves, gauge } from "/static/charts.js";
import { byId, call, clearErrors, download, el, latestOnly, showError } from "/static/studio.js";

const form = byId("form"), status = byId("status");
let columns = [], book = null, last = null, sound = false, price = null;

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
const named = (name) => (/^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
const column = () => columns.find((one) => one.name === byId("column").value);
// Cells of a CSV are read as the question says: a number stays a number, but 007 and everything else is text.
const isNumber = (text) => /^[+-]?(0|[1-9]\d*)(\.\d+)?$/.test(text.trim());
const literal = (text) => (column().open ? (isNumber(text) ? text.trim() : quoted(text)) : ["text", "date", "time", "other"].includes(column().kind) ? quoted(text) : text.trim());
const listed = () => byId("options").value.split(",").map((part) => part.trim()).filter(Boolean).map(literal).join(", ");
const condition = () => `${named(byId("column").value)} ${byId("operator").value} ${literal(byId("value").value)}`;

const name = () => named(byId("column").value);
const among = () => (byId("among").value.trim() ? ` among ${byId("among").value.trim()}` : "");
const bound = () => byId("bound").value;
const range = () => `range=[${byId("low").value}, ${byId("high").value}]${byId("step").value ? `, step=${byId("step").value}` : ""}`;
const bands = () => (byId("options").value.trim() ? `bins=[${edges()}]` : range());
const edges = () => byId("options").value.split(",").map((part) => part.trim()).filter(Boolean).map((edge) => (isNumber(edge) ? edge : quoted(edge))).join(", ");

const PARTS = ["column", "condition", "bound", "range", "step", "options"];
// kind: [parts of the form that it uses, label of the bound, label of the options, text of the question]
const KINDS = {
  share: [["column", "condition", "bound"], "At least … %", "", () => `share(${condition()}${among()}) >= ${Number((Number(bound()) / 100).toPrecision(12))}`],
  majority: [["column", "condition"], "", "", () => `majority(${condition()}${among()})`],
  count: [["column", "condition", "bound"], "At least … people", "", () => `count(${condition()}${among()}) >= ${bound()}`],
  mean: [["column", "range", "bound"], "Mean at least", "", () => `mean(${name()}, ${range()}${among()}) >= ${bound()}`],
  compare: [["column", "options"], "", "Two options ", () => `compare(${name()}, ${listed()}${among()})`],
  winner: [["column", "options"], "", "Options ", () => `winner(${name()}, [${listed()}]${among()})`],
  top: [["column", "bound", "options"], "How many of them", "Options ", () => `top(${name()}, ${bound()}, [${listed()}]${among()})`],
  median: [["column", "options", "range", "step"], "", "Edges of the bands, or a range and steps below ", () => `median(${name()}, ${bands()}${among()})`],
  histogram: [["column", "options"], "", "Options ", () => `histogram(${name()}, [${listed()}]${among()})`],
  own: [[], "", "", null],
};
const BOUNDS = { share: "30", count: "100", mean: "", top: "3" };

// Whether everything that the question needs is written; the text stays empty until then.
function complete(kind, parts) {
  if (parts.includes("condition") && byId("value").value === "") return false;
  if (parts.includes("bound") && bound() === "") return false;
  const ranged = byId("low").value !== "" && byId("high").value !== "";
  if (kind === "median") return edges() !== "" || (ranged && byId("step").value !== "");
  if (parts.includes("range") && !ranged) return false;
  return !parts.includes("options") || listed() !== "";
}

function writeQuestion() {
  const kind = byId("kind").value, [parts, boundLabel, optionsLabel, text] = KINDS[kind];
  for (const part of PARTS) byId(`${part}-part`).hidden = !parts.includes(part);
  byId("among-part").hidden = text === null;
  if (boundLabel) byId("bound-label").textContent = boundLabel;
  if (optionsLabel) byId("options-label").firstChild.textContent = optionsLabel;
  if (text) byId("question").value = complete(kind, parts) ? text() : "";
}

// Fields that mean something only beside another one.
function showDependent() {
  byId("order-part").hidden = byId("reduce").value !== "first";
  byId("groups-part").hidden = byId("by").value === "";
  byId("aim-part").hidden = byId("levels").value === "";
}

const groupValue = (text) => { const own = columns.find((one) => one.name === byId("by").value); return own && !own.open && own.kind === "number" && isNumber(text) ? Number(text) : text; };

function asked() {
  const body = { question: byId("question").value, epsilon: byId("epsilon").value, delta: byId("delta").value || "0" };
  for (const option of ["where", "reduce", "levels", "part", "by"]) if (byId(option).value) body[option] = byId(option).value;
  if (body.reduce === "first" && byId("reduce_order").value) body.reduce_order = byId("reduce_order").value;
  if (body.levels && byId("aim").value) body.aim = byId("aim").value;
  if (body.by) {
    body.groups = byId("groups").value.split(",").map((part) => part.trim()).filter(Boolean).map(groupValue);
    if (byId("public_groups").checked) body.public_groups = true;
  }
  return body;
}

// For the check alone: the number of people is written by the steward and never comes from the data.
const checked = (body) => (byId("n").value ? { ...body, n: Number(byId("n").value) } : body);

// What was typed survives back and reload, in this tab alone.
const KEPT = "optimaldp-release-form";
const fields = () => [...form.querySelectorAll("input, select, textarea")].filter((one) => one.id !== "unit");
function keep() {
  try { sessionStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(fields().map((one) => [one.id, one.type === "checkbox" ? one.checked : one.value])))); } catch { /* private window */ }
}
function restore() {
  let kept = null;
  try { kept = JSON.parse(sessionStorage.getItem(KEPT)); } catch { /* private window */ }
  if (!kept) return false;
  for (const one of fields()) if (one.id in kept) { if (one.type === "checkbox") one.checked = kept[one.id]; else one.value = kept[one.id]; }
  for (const one of form.querySelectorAll("select")) if (one.selectedIndex < 0) one.selectedIndex = 0; // a column that is gone
  byId("more").open = fields().some((one) => byId("more").contains(one) && (one.type === "checkbox" ? one.checked : one.value !== "")); // nothing that counts is hidden
  return true;
}

const refresh = latestOnly(async () => {
  const body = asked();
  sound = false;
  price = null;
  ready(); // while the studio checks, the button is off and looks it
  if (!body.question || !body.epsilon) return;
  try {
    const made = await call("check", checked(body), { status, words: "Checking against the schema" });
    clearErrors(form, status);
    sound = JSON.stringify(body) === JSON.stringify(asked()); // nothing was changed while the studio checked
    price = made.price;
    preview(made);
    showBook(made.ledger);
  } catch (error) {
    clearErrors(form, status);
    byId("preview-card").hidden = true;
    showError(error, status, form);
  }
  ready();
});

function ready() {
  byId("ask").disabled = !sound || !price?.covered;
  byId("ask").textContent = price?.recorded ? "Show the recorded answer" : price && !price.covered ? "The budget does not cover it" : "Release …";
  const missing = !byId("question").value ? "Complete the question." : !byId("epsilon").value ? "Choose ε: there is no default." : "";
  byId("why").textContent = missing || (sound && price ? price.covered && !price.recorded ? `${price.words} You will be asked to confirm.` : price.words : "");
}

function preview({ preview: shown, people, cautions }) {
  byId("preview-card").hidden = false;
  byId("preview-card").classList.remove("stale");
  byId("people").textContent = people;
  byId("cautions").replaceChildren(...cautions.map((text) => el("li", {}, capital(text))));
  byId("cautions").hidden = cautions.length === 0;
  const said = [...shown.sentences.map((text) => el("li", {}, capital(text))), ...shown.notes.map((text) => el("li", { class: "plain note" }, text))];
  byId("expect").replaceChildren(...said, shown.attacker ? el("li", { class: "plain" }, shown.attacker.words) : null);
  byId("curve").replaceChildren();
  if (shown.error) curves(byId("curve"), { x: shown.margin, series: Object.entries(shown.error), marks: [["95 % right", shown.reliable_from["at most 5 %"]]],
    xLabel: "margin: people who would have to answer differently", yLabel: "probability of the right answer", title: `accuracy by margin for ${shown.question}` });
}

function showBook(ledger) {
  book = ledger;
  const next = price?.recorded ? 0 : Number(byId("epsilon").value) || 0, total = Number(book.remaining.budget.epsilon);
  if (book.limited) gauge(byId("gauge"), book.share, total > 0 ? next / total : 0, book.words);
  else byId("gauge").replaceChildren();
  const kept = book.kept ? "" : " Nothing limits the spend and this record ends with the studio: name a ledger with --ledger to keep one.";
  byId("budget").textContent = `${book.words[0].toUpperCase()}${book.words.slice(1)}.${kept}`;
  const cells = (line) => [line.time.slice(0, 19).replace("T", " "), line.question, `(${line.epsilon}, ${line.delta})`, line.part ?? "", line.recorded ? words(line.answer) : "(spent, not recorded)"];
  byId("history").replaceChildren(book.history.length === 0 ? el("p", { class: "note" }, "Nothing was asked yet.") : el("table", {},
    el("thead", {}, el("tr", {}, ...["time (UTC)", "question", "(ε, δ)", "part", "answer"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...[...book.history].reverse().map((line) => el("tr", {}, ...cells(line).map((text) => el("td", {}, text)))))));
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const words = (answer) => (typeof answer === "string" ? answer : JSON.stringify(answer).replaceAll('"', "").replaceAll(",", ", "));

function confirmSpend() {
  const body = asked(), delta = body.delta === "0" ? "" : `, δ = ${body.delta}`;
  byId("confirm-cautions").replaceChildren(...[...byId("cautions").children].map((line) => el("li", {}, line.textContent)));
  byId("confirm-words").textContent = `${body.question} costs ε = ${body.epsilon}${delta}. ${byId("budget").textContent}`;
  byId("confirm").showModal();
  byId("no").focus();
}

async function release() {
  byId("confirm").close();
  clearErrors(form, status);
  byId("ask").disabled = true;
  byId("answer-card").hidden = true;
  try {
    last = await call("release", { ...asked(), confirm: true }, { status, words: "Counting and sampling", cancelWords: "A spend that was already written stays spent." });
    showAnswer();
    showBook(last.ledger);
  } catch (error) {
    showError(error, status, form);
    if (error.status === 409 || error.status === 0) showBook((await call("session", null)).ledger);
    ready();
    return;
  }
  await refresh(); // the same question now costs nothing, and the button says so
}

// The four things to know first; the proof behind a click.
function showAnswer() {
  byId("answer-card").hidden = false;
  const many = last.answer !== null && typeof last.answer === "object";
  byId("answer").textContent = many ? "" : String(last.answer);
  byId("answer").hidden = many;
  byId("answers").hidden = !many;
  if (many) answerBars(byId("answers"), last.answer);
  byId("asked").textContent = last.document.question;
  byId("sentences").replaceChildren(...last.sentences.slice(1).map((text) => el("li", {}, text)));
  byId("spent").textContent = last.recorded ? "It was recorded earlier: nothing was spent on it now." : `${last.spent} was spent on it. You may publish it.`;
  byId("certificate").replaceChildren(...last.proof.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
  byId("proof").open = false;
}

async function start() {
  try {
    const session = await call("session", null, { status, words: "Opening the table" });
    if (session.data === null) { byId("no-data").hidden = false; return; }
    columns = session.data.columns;
    byId("desk").hidden = false;
    byId("table-words").textContent = session.data.words;
    byId("column").replaceChildren(...columns.map((one) => el("option", { value: one.name }, `${one.name} (${one.words})`)));
    for (const id of ["levels", "by", "reduce_order"]) byId(id).append(...columns.map((one) => el("option", {}, one.name)));
    byId("unit").value = session.ledger.unit ? `a value of ${session.ledger.unit}` : "a row";
    byId("rows-part").hidden = session.ledger.unit === null;
    byId("part").append(...session.ledger.parts.map((part) => el("option", {}, part)));
    byId("part-part").hidden = session.ledger.parts.length === 0;
    byId("people").textContent = `${session.ledger.unit ? `Each value of ${session.ledger.unit} is one person` : "Each row counts as one person"}; neighbours: ${session.ledger.neighbours}.`;
    showBook(session.ledger);
    const kept = restore(), written = byId("question").value;
    writeQuestion();
    if (kept) { byId("question").value = written || byId("question").value; showDependent(); refresh(); }
  } catch (error) { showError(error, status); }
}

form.addEventListener("input", (event) => {
  const id = event.target.id;
  if (id === "slider") byId("epsilon").value = String(Number((10 ** Number(event.target.value)).toPrecision(3)));
  if (id === "epsilon" && Number(event.target.value) > 0) byId("slider").value = Math.log10(Number(event.target.value));
  if (id === "question") { byId("kind").value = "own"; for (const part of PARTS) byId(`${part}-part`).hidden = true; byId("among-part").hidden = true; }
  if (id === "column") byId("options").value = (column().options ?? []).join(", ");
  if (id === "kind") byId("bound").value = BOUNDS[event.target.value] ?? "";
  if (["kind", "column", "operator", "value", "bound", "options", "low", "high", "step", "among"].includes(id)) writeQuestion();
  showDependent();
  keep();
  sound = false;
  price = null;
  byId("answer-card").hidden = true; // an answer never stands beside inputs that it does not belong to
  byId("preview-card").classList.add("stale");
  ready();
  refresh();
});
form.addEventListener("submit", (event) => { event.preventDefault(); if (sound && price?.recorded) release(); else if (sound && price?.covered) confirmSpend(); });
byId("yes").addEventListener("click", release);
byId("no").addEventListener("click", () => byId("confirm").close());
byId("save").addEventListener("click", () => download("release.json", JSON.stringify(last.document, null, 2)));
async function saveReport(kind) {
  try {
    const made = await call("report", {}, { status, words: "Writing the report" });
    if (kind === "html") download("report.html", made.html, "text/html"); else download("history.csv", made.csv, "text/csv");
  } catch (error) { showError(error, status); }
}
byId("save-report").addEventListener("click", () => saveReport("html"));
byId("save-history").addEventListener("click", () => saveReport("csv"));
start();
