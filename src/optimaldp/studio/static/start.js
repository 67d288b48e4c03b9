// The start page: who is one person, how the table is written, how large the budget is. Proposals come from the studio; what is
// confirmed here becomes public.
import { isNumber, listed } from "/static/sheets.js";
import { byId, call, clearErrors, el, showError } from "/static/studio.js";

const form = byId("opening"), status = byId("choose-status");
const RULES = { number: ["sum", "mean", "median", "min", "max", "count"], text: ["most-frequent"] };
let proposed = null, show = () => {};

const isNumeric = (keys) => ["integer", "number", "year", "date", "datetime"].includes(keys.type);
const same = (first, second) => JSON.stringify(Object.entries(first).filter(([name]) => name !== "name").sort()) === JSON.stringify(Object.entries(second).sort());

// Fill the form for a table that has no ledger yet.
export async function offerStart({ data }) {
  form.hidden = data === null;
  byId("file-part").hidden = data !== null && !data.given;
  byId("lasting").hidden = data !== null && data.kept;
  byId("choose-title").textContent = data === null ? "Choose a table" : "Before the first question";
  if (data === null) return;
  byId("opening-words").textContent = `${data.words}. The names of its columns are public.`;
  byId("budget-hint").textContent = data.kept ? "for example 3" : "empty: no limit";
  byId("opening-unit").replaceChildren(el("option", { value: "?" }, "choose …"), el("option", { value: "" }, "each row"), ...data.columns.map((one) => el("option", { value: one.name }, `each value of ${one.name}`)));
  await propose();
}

async function propose(encoding = null) {
  clearErrors(byId("choose"), status);
  byId("written-part").disabled = true; // what is typed meanwhile would be lost
  try {
    proposed = await call("proposal", encoding ? { encoding } : {}, { status, words: "Looking how the columns are written" });
  } catch (error) { proposed = null; showError(error, status, form); return; } finally { byId("written-part").disabled = false; }
  const { described, person, likely, neighbours } = proposed;
  if (neighbours) byId("opening-neighbours").value = neighbours;
  if (person) byId("opening-unit").value = person;
  else if (described) byId("opening-unit").value = "";
  byId("opening-unit").disabled = byId("opening-neighbours").disabled = described;
  byId("unit-hint").textContent = described ? "As the description of the table says." : likely ? `By its name, ${likely} may identify a person. If somebody can have several rows, choose it: otherwise only one of their rows is protected.` : "If somebody can have several rows, choose the column that identifies a person: otherwise only one of their rows is protected.";
  byId("written-part").hidden = described;
  byId("budget-legend").textContent = `${described ? "2" : "3"}. How large is the budget?`;
  if (described) return;
  byId("opening-encoding").value = proposed.encoding;
  byId("encoding-part").hidden = proposed.columns.every((one) => one.fixed);
  byId("written-columns").replaceChildren(...proposed.columns.map(columnRow));
  byId("public-columns").replaceChildren(...proposed.columns.map(({ keys }, k) => el("label", { class: "check", for: `public-${k + 1}` }, el("input", { type: "checkbox", id: `public-${k + 1}`, value: keys.name }), keys.name)));
  offerRules();
}

function columnRow({ keys, fixed, words }, k) {
  const id = (part) => `written-${k + 1}${part}`;
  const chosen = el("select", { id: id("") }, ...(fixed ? [el("option", { value: "-1" }, words)] : proposed.written.map((one, i) => el("option", { value: String(i) }, one.words))));
  if (!fixed) chosen.value = String(Math.max(0, proposed.written.findIndex((one) => same(keys, one.keys))));
  const field = (part, text, more = {}) => el("div", { "data-part": part }, el("label", { for: id(`-${part}`) }, text), el("input", { id: id(`-${part}`), spellcheck: "false", ...more }));
  const rule = el("div", { "data-part": "rule" }, el("label", { for: id("-rule") }, "Several rows"), el("select", { id: id("-rule") }));
  const row = el("div", { class: "written", role: "group", "aria-label": keys.name, "data-column": keys.name },
    el("div", { class: "written-name" }, el("code", {}, keys.name)), el("div", {}, el("label", { for: id("") }, "Holds"), chosen),
    field("low", "From", { inputmode: "decimal" }), field("high", "to", { inputmode: "decimal" }), field("options", "Its values", { placeholder: "a, b, c" }), field("yes", "Yes is written", { placeholder: "yes" }), field("no", "No is written", { placeholder: "no" }), rule);
  chosen.addEventListener("input", () => { depend(row, k); offerRules(); });
  depend(row, k);
  return row;
}

const keysOf = (row, k) => { const place = Number(row.querySelector("select").value); return place < 0 ? proposed.columns[k].keys : proposed.written[place].keys; };
const valueOf = (row, part) => row.querySelector(`[data-part="${part}"] input, [data-part="${part}"] select`).value.trim();

// Only what fits the type is asked.
function depend(row, k) {
  const keys = keysOf(row, k), open = keys.type === "boolean" && !proposed.columns[k].fixed;
  const shown = { low: isNumeric(keys), high: isNumeric(keys), options: keys.type === "string", yes: open, no: open };
  for (const [part, visible] of Object.entries(shown)) row.querySelector(`[data-part="${part}"]`).hidden = !visible;
}

// A person with several rows needs a rule for each number, once for all questions.
function offerRules() {
  const unit = byId("opening-unit").value;
  for (const [k, row] of [...byId("written-columns").children].entries()) {
    const keys = keysOf(row, k), part = row.querySelector('[data-part="rule"]'), select = part.querySelector("select"), before = select.value;
    part.hidden = !unit || unit === "?" || row.dataset.column === unit || !(isNumeric(keys) || ["string", "boolean"].includes(keys.type));
    const rules = keys.type === "date" || keys.type === "datetime" ? ["min", "max"] : isNumeric(keys) ? RULES.number : RULES.text;
    select.replaceChildren(el("option", { value: "" }, "asked later"), ...rules.map((one) => el("option", {}, one)));
    if (rules.includes(before)) select.value = before;
  }
}

const limit = (text) => (isNumber(text) ? Number(text) : text);

function fieldOf(row, k) {
  const { name: _, ...keys } = keysOf(row, k), constraints = {}, made = { ...keys };
  if (isNumeric(keys)) for (const [part, word] of [["low", "minimum"], ["high", "maximum"]]) if (valueOf(row, part)) constraints[word] = limit(valueOf(row, part));
  if (keys.type === "string" && listed(valueOf(row, "options")).length) constraints.enum = listed(valueOf(row, "options"));
  if (keys.type === "boolean" && !proposed.columns[k].fixed && valueOf(row, "yes")) Object.assign(made, { trueValues: listed(valueOf(row, "yes")), falseValues: listed(valueOf(row, "no")) });
  return Object.keys(constraints).length ? { ...made, constraints } : made;
}

function confirmed() {
  const body = { unit: byId("opening-unit").value, neighbours: byId("opening-neighbours").value, budget: byId("opening-budget").value, budget_delta: byId("opening-delta").value || "0" };
  if (!proposed || proposed.described) return body;
  const rows = [...byId("written-columns").children];
  const reduce = Object.fromEntries(rows.filter((row) => !row.querySelector('[data-part="rule"]').hidden && valueOf(row, "rule")).map((row) => [row.dataset.column, valueOf(row, "rule")]));
  const known = [...byId("public-columns").querySelectorAll("input:checked")].map((one) => one.value);
  return { ...body, encoding: byId("encoding-part").hidden ? "" : byId("opening-encoding").value === "utf-8" ? "" : byId("opening-encoding").value, fields: Object.fromEntries(rows.map((row, k) => [row.dataset.column, fieldOf(row, k)])), reduce, public: known };
}

export function startForm(whenOpen) { show = whenOpen; }

byId("opening-unit").addEventListener("input", offerRules);
byId("opening-encoding").addEventListener("input", () => propose(byId("opening-encoding").value));
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  clearErrors(byId("choose"), status);
  const unit = byId("opening-unit");
  if (unit.value === "?") {
    unit.setAttribute("aria-invalid", "true");
    unit.insertAdjacentElement("afterend", el("p", { class: "field-error", role: "alert" }, "Choose who is one person: everything that is promised depends on it."));
    unit.focus();
    return;
  }
  try {
    show(await call("open", confirmed(), { status, words: "Making the ledger" }));
    byId("table-words").focus();
  } catch (error) { showError(error, status, form); }
});
