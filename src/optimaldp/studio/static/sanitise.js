// Sanitise: columns with public values, what would be off, a confirmed spend, and rows to download.
import { answerBars } from "/static/charts.js";
import { likelyBins, likelyKind, sideText, unitLast } from "/static/sheets.js";
import { byId, call, capital, clearErrors, el, keep, latestOnly, restore, short, showError, tieSlider } from "/static/studio.js";
import { confirmSpend, openTable, showBook, spend } from "/static/table.js";

const form = byId("form"), status = byId("status");
let columns = [], sound = false, price = null;
const rows = () => [...byId("columns").querySelectorAll("fieldset")];
const ofRow = (row) => [...row.querySelectorAll("select, input")].map((one) => one.value);

function addColumn([name, kind, values] = []) {
  const k = rows().length + 1;
  const chosen = el("select", { id: `column-${k}` }, ...columns.map((one) => el("option", { value: one.name }, one.open ? one.name : `${one.name} (${one.words})`)));
  const how = el("select", { id: `kind-${k}` }, el("option", { value: "options" }, "one of these values"), el("option", { value: "bins" }, "in bins with these edges"), el("option", { value: "listed" }, "as its type lists them"));
  const written = el("input", { id: `values-${k}`, spellcheck: "false" });
  const free = columns.find((one) => !rows().some((row) => ofRow(row)[0] === one.name));
  chosen.value = name ?? free?.name ?? columns[0].name;
  const begin = () => { const own = columns.find((one) => one.name === chosen.value); how.value = likelyKind(own); written.value = likelyBins(own); }; // what was said of another column does not fit
  begin();
  if (kind !== undefined) { how.value = kind; written.value = values; }
  const label = el("label", { for: `values-${k}` });
  const depend = () => {
    written.parentElement.hidden = how.value === "listed";
    label.textContent = how.value === "bins" ? "Edges: 0, 18, 65, 120" : "Values, separated by commas";
  };
  const remove = () => { row.remove(); changed(); byId("add-column").focus(); };
  const row = el("fieldset", {}, el("legend", {}, `Column ${k}`), el("div", {}, el("label", { for: `column-${k}` }, "Column"), chosen), el("div", {}, el("label", { for: `kind-${k}` }, "Its values are"), how),
    el("div", {}, label, written), el("div", { class: "tools" }, el("button", { type: "button", class: "quiet", "aria-label": `Remove column ${k}`, onclick: remove }, "Remove")));
  how.addEventListener("input", depend);
  chosen.addEventListener("input", () => { begin(); depend(); });
  depend();
  byId("columns").append(row);
  return chosen;
}

// A column as the command line writes it, which knows no words of SQL; null where its values are missing.
const columnText = (row) => { const { written: _, ...own } = columns.find((one) => one.name === row[0]); return sideText(row, own); };

function asked() {
  const body = { columns: rows().map((row) => columnText(ofRow(row))), epsilon: byId("epsilon").value };
  for (const option of ["marginals", "where", "reduce", "levels"]) if (byId(option).value) body[option] = byId(option).value;
  if (["first", "last"].includes(body.reduce) && byId("reduce_order").value) body.reduce_order = byId("reduce_order").value;
  return body;
}
const complete = (body) => body.columns.length > 0 && !body.columns.includes(null);

const refresh = latestOnly(async (latest) => {
  const body = asked();
  sound = false;
  price = null;
  ready();
  if (!complete(body) || !body.epsilon) { byId("estimate-card").hidden = true; return; }
  try {
    const made = await call("check_sanitise", { ...body, ...(byId("n").value ? { n: Number(byId("n").value) } : {}) }, { status, words: "Estimating" });
    clearErrors(form, status);
    sound = latest() && JSON.stringify(body) === JSON.stringify(asked());
    price = made.price;
    showEstimate(made);
    showBook(made.ledger, Number(body.epsilon) || 0);
  } catch (error) {
    clearErrors(form, status);
    byId("estimate-card").hidden = true;
    showError(error, status, form);
  }
  ready();
});

function ready() {
  const body = asked();
  byId("ask").disabled = !sound || !price?.covered;
  byId("ask").textContent = price && !price.covered ? "The budget does not cover it" : "Sanitise …";
  const missing = !complete(body) ? "Write the values of each column: they are public and never taken from the data." : !body.epsilon ? "Choose ε: there is no default." : "";
  byId("why").textContent = missing || (sound && price ? (price.covered ? `${price.words} You will be asked to confirm.` : price.words) : "");
}

function showEstimate({ estimate: shown, method }) {
  byId("estimate-card").hidden = false;
  byId("estimate-card").classList.remove("stale");
  const own = shown[method], facts = [`The table has ${shown.cells} cells; ${method === "joint" ? "all of them get noise" : "the named tables get noise"}.`,
    own.one_way_error !== null && `The count of one value of a column is off by ${short(own.one_way_error)} people on average.`,
    own.two_way_error !== null && `The count of a pair of values of two columns is off by ${short(own.two_way_error)} people on average.`,
    method === "joint" && `The errors of all cells add up to at most ${short(shown.joint.expected_error_at_most)} on average.`];
  byId("estimate").replaceChildren(...facts.filter(Boolean).map((text) => el("li", {}, text)));
  const number = (value) => el("td", { class: "number" }, value === null ? "" : `± ${short(value)}`);
  byId("queries").replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, ...["count by", "joint table", "marginals", "better"].map((name, i) => el("th", { scope: "col", class: i === 1 || i === 2 ? "number" : null }, name)))),
    el("tbody", {}, ...shown.queries.map((query) => el("tr", {}, el("th", { scope: "row" }, query.columns.join(" and ")), number(query.joint), number(query.marginals), el("td", {}, query.better))))));
}

async function sanitise() {
  const body = asked();
  const text = `A sanitised table of ${body.columns.length} columns costs ε = ${body.epsilon}. Each time is drawn anew and paid anew.`;
  if (!(await confirmSpend({ text, lines: body.columns }))) return;
  byId("ask").disabled = true;
  byId("result").hidden = true;
  const made = await spend("sanitise", { ...body, labels: byId("labels").checked });
  if (made) showResult(made);
  await refresh();
  if (!made) byId("epsilon").focus();
}

const files = (number) => [["csv", "Download the rows (CSV)"], ["json", "Download the statement"]].map(([kind, words]) => el("a", { class: "button", href: `/made/clean-${number}.${kind}`, download: `clean.csv${kind === "json" ? ".json" : ""}` }, words));

function showResult(made) {
  byId("result").hidden = false;
  const said = made.statement, off = Object.entries(said.one_way_error_95 ?? {}).filter(([, value]) => value !== null);
  byId("result-facts").replaceChildren(...[`${made.rows} rows of ${said.columns.map((one) => one.name).join(", ")}, which you may publish.`, `${made.recorded ? "This table was already in the ledger: nothing was spent" : `ε ${said.epsilon} was spent`}; neighbours: ${said.neighbours_in_words}.`,
    ...off.map(([name, value]) => `A count of one value of ${name} is off by at most ${value} in 95 % of cases.`)].map((text) => el("li", {}, text)));
  byId("result-files").replaceChildren(...files(made.number));
  const margins = Object.values(made.margins).some(Boolean) ? [el("p", { class: "note" }, "People by column, straight from the noisy cells: right on average, so that a small count can fall below 0.")] : [];
  byId("margins").replaceChildren(...margins, ...Object.entries(made.margins).filter(([, counts]) => counts).flatMap(([name, counts]) => { const place = el("div", {}); answerBars(place, counts); return [el("h3", {}, name), place]; }));
  byId("statement").textContent = JSON.stringify(said, null, 1);
  showMade(made.made);
  byId("result-title").focus();
}

function showMade(made) {
  byId("made-card").hidden = made.length === 0;
  byId("made").replaceChildren(...made.map((one) => el("li", {}, el("div", {}, `${capital(one.columns.join(", "))}, ε ${one.epsilon}, ${one.time.slice(0, 19).replace("T", " ")} `), el("div", { class: "tools" }, ...files(one.number)))));
}

function changed() {
  byId("order-part").hidden = !["first", "last"].includes(byId("reduce").value);
  keep("sanitise", form, { columns: rows().map(ofRow) });
  sound = false;
  price = null;
  byId("result").hidden = true; // a result never stands beside inputs that it does not belong to
  byId("estimate-card").classList.add("stale");
  ready();
  refresh();
}

function start(session) {
  columns = unitLast(session.data.columns, session.ledger.unit);
  byId("columns").replaceChildren();
  byId("rows-part").hidden = session.ledger.unit === null;
  for (const id of ["levels", "reduce_order"]) byId(id).replaceChildren(byId(id).options[0], ...columns.map((one) => el("option", { value: one.name }, one.name)));
  const kept = restore("sanitise", form);
  for (const row of kept?.columns.filter(([name]) => columns.some((one) => one.name === name)) ?? []) addColumn(row);
  if (!rows().length) addColumn();
  byId("order-part").hidden = !["first", "last"].includes(byId("reduce").value);
  showMade(session.made);
  follow();
  refresh();
}

const follow = tieSlider(byId("slider"), byId("epsilon"));
form.addEventListener("input", changed);
form.addEventListener("submit", (event) => { event.preventDefault(); if (sound && price?.covered) sanitise(); });
byId("add-column").addEventListener("click", () => { addColumn().focus(); changed(); });
openTable({ status, ready: start, changed: () => { if (columns.length) refresh(); } });
