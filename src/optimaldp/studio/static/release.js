// Release: a question from its form, a public preview, a confirmed spend, a private answer.
import { hideAnswers, showAnswers } from "/static/answers.js";
import { addToBasket, refreshBasket, startBasket } from "/static/basket.js";
import { curves, errorBars } from "/static/charts.js";
import { forgetRehearsal, startRehearsal } from "/static/rehearsal.js";
import { SheetForm, isNumber, listed, unitLast } from "/static/sheets.js";
import { byId, call, capital, clearErrors, el, keep, latestOnly, restore, showError, tieSlider } from "/static/studio.js";
import { confirmSpend, openTable, showBook, spend } from "/static/table.js";

const form = byId("form"), status = byId("status");
let columns = [], sheet = null, sound = false, price = null, cautions = [], ruled = null, unit = null;
const ORDERED = ["first", "last"];

// Fields that mean something only beside another one.
function showDependent() {
  byId("order-part").hidden = !ORDERED.includes(byId("reduce").value);
  byId("public-part").hidden = byId("by").value === "" && !twoGroups();
  byId("groups-part").hidden = byId("by").value === "";
  byId("aim-part").hidden = byId("levels").value === "";
}

const twoGroups = () => /\samong\s.*\samong\s/is.test(byId("question").value);

// Only the rules that fit the question are offered; one that fitted another question does not stay and block this one.
async function offerRules() {
  const question = byId("question").value;
  if (question === ruled) return;
  ruled = question;
  const words = byId("question-words");
  let made = null;
  try { if (question) made = await call("rules", { question }); } catch (error) { if (!error.kind) throw error; } // the check says what is wrong
  if (question !== byId("question").value) return;
  words.hidden = !made;
  words.textContent = made?.words ?? "";
  if (!made || unit === null) return;
  const select = byId("reduce"), before = select.value, said = Object.entries(made.said).filter(([name]) => question.includes(name)).map(([name, rule]) => `${name}: ${rule}`).join(", ");
  select.replaceChildren(el("option", { value: "" }, said ? `as described (${said})` : made.rules[0] === "sum" ? "choose a rule" : `the usual rule (${made.rules[0]})`), ...made.rules.map((rule) => el("option", {}, rule)));
  select.value = made.rules.includes(before) ? before : "";
  showDependent();
}

// A group as the column's type has it: a number, true or false, or text.
const groupValue = (text) => {
  const own = columns.find((one) => one.name === byId("by").value);
  if (!own || own.open) return text;
  return own.kind === "truth" && /^(true|false)$/i.test(text) ? text.toLowerCase() === "true" : own.kind === "whole" && isNumber(text) ? Number(text) : text;
};

function asked() {
  const body = { question: byId("question").value, epsilon: byId("epsilon").value, delta: byId("delta").value || "0" };
  for (const option of ["where", "reduce", "levels", "part", "by"]) if (byId(option).value) body[option] = byId(option).value;
  if (unit === null) for (const option of ["reduce", "where"]) delete body[option];
  if (ORDERED.includes(body.reduce) && byId("reduce_order").value) body.reduce_order = byId("reduce_order").value;
  if (body.levels && byId("aim").value) body.aim = byId("aim").value;
  if (body.by) body.groups = listed(byId("groups").value).map(groupValue);
  if ((body.by || twoGroups()) && byId("public_groups").checked) body.public_groups = true;
  return body;
}

// For the check alone: the numbers of people are written by the steward and never come from the data.
function checked(body) {
  const more = byId("n").value ? { n: Number(byId("n").value) } : {};
  const sizes = listed(byId("level_sizes").value).map((part) => part.split(":").map((side) => side.trim()));
  if (body.levels && sizes.length) more.level_sizes = Object.fromEntries(sizes.map(([own, people]) => [own, Number(people)]));
  return { ...body, ...more };
}

const remember = () => keep("release", form, { ...sheet.state(), reduce: byId("reduce").value });

const refresh = latestOnly(async (latest) => {
  sound = false;
  price = null;
  ready(); // while the studio checks, the button is off and looks it
  await offerRules();
  const body = asked();
  if (!body.question || !body.epsilon) { byId("preview-card").hidden = true; return; }
  try {
    const made = await call("check", checked(body), { status, words: "Checking against the schema" });
    clearErrors(form, status);
    sound = latest() && JSON.stringify(body) === JSON.stringify(asked()); // nothing was changed while the studio checked
    price = made.price;
    preview(made);
    showBook(made.ledger, price.recorded ? 0 : Number(body.epsilon) || 0);
  } catch (error) {
    clearErrors(form, status);
    byId("preview-card").hidden = true;
    showError(error, status, form);
  }
  ready();
});

function ready() {
  byId("ask").disabled = !sound || !price?.covered;
  byId("add").disabled = !sound;
  byId("ask").textContent = price?.recorded ? "Show the recorded answer" : price && !price.covered ? "The budget does not cover it" : "Release …";
  const missing = !byId("question").value ? "Complete the question." : !byId("epsilon").value ? "Choose ε: there is no default." : "";
  byId("why").textContent = missing || (sound && price ? price.covered && !price.recorded ? `${price.words} You will be asked to confirm.` : price.words : "");
}

function preview({ preview: shown, people, cautions: said }) {
  byId("preview-card").hidden = false;
  byId("preview-card").classList.remove("stale");
  byId("people").textContent = people;
  cautions = said.map(capital);
  byId("cautions").replaceChildren(...cautions.map((text) => el("li", {}, text)));
  byId("cautions").hidden = cautions.length === 0;
  const expect = [...shown.sentences.map((text) => el("li", {}, capital(text))), ...shown.notes.map((text) => el("li", { class: "plain note" }, capital(text)))];
  byId("expect").replaceChildren(...expect, ...(shown.attacker ? [el("li", { class: "plain" }, shown.attacker.words)] : []));
  byId("curve").replaceChildren();
  byId("rehearsal").hidden = Boolean(byId("levels").value);
  if (shown.expected_error && Object.keys(shown.expected_error).length > 1) errorBars(byId("curve"), shown.expected_error);
  if (shown.error) curves(byId("curve"), { x: shown.margin, series: Object.entries(shown.error), marks: [["95 % right", shown.reliable_from["at most 5 %"]]],
    xLabel: "margin: people who would have to answer differently", yLabel: "probability of the right answer", title: `accuracy by margin for ${shown.question}` });
}

async function release() {
  const body = asked(), delta = body.delta === "0" ? "" : `, δ = ${body.delta}`;
  const words = byId("question-words").textContent;
  const text = `${words ? `${words} ` : ""}It costs ε = ${body.epsilon}${delta}. The same question at the same level on unchanged data gives the recorded answer for nothing.`;
  if (!price.recorded && !(await confirmSpend({ text, cautions }))) return;
  clearErrors(form, status);
  byId("ask").disabled = true;
  hideAnswers();
  const made = await spend("release", body);
  if (made) showAnswers([made]);
  await refresh(); // the same question now costs nothing, and the button says so
  if (!made) byId(byId("ask").disabled ? "kind" : "ask").focus();
  refreshBasket();
}

async function start(session) {
  unit = session.ledger.unit;
  columns = unitLast(session.data.columns, unit);
  for (const id of ["levels", "by", "reduce_order"]) byId(id).replaceChildren(byId(id).options[0], ...columns.map((one) => el("option", { value: one.name }, one.name)));
  byId("unit").value = session.ledger.unit ? `a value of ${session.ledger.unit}` : "a row";
  byId("rows-part").hidden = unit === null;
  byId("part").replaceChildren(byId("part").options[0], ...session.ledger.parts.map((part) => el("option", { value: part }, part)));
  byId("part-part").hidden = session.ledger.parts.length === 0;
  const { sheets } = await call("sheets", null, { status });
  sheet = new SheetForm({ place: byId("sheet"), select: byId("kind"), note: byId("sheet-note"), sheets, columns });
  const kept = restore("release", form);
  if (kept?.reduce) byId("reduce").replaceChildren(byId("reduce").options[0], el("option", { selected: true }, kept.reduce)); // until the rules that fit are known
  if (kept) sheet.restore(kept); else sheet.show(sheets[0].name);
  if (sheet.sheet) byId("question").value = sheet.text();
  byId("more").open = [...byId("more").querySelectorAll("input:not([readonly]), select")].some((one) => (one.type === "checkbox" ? one.checked : one.value !== "")); // nothing that counts is hidden
  follow();
  showDependent();
  startBasket((made) => { hideAnswers(); showAnswers(made); refresh(); });
  refresh();
}

const follow = tieSlider(byId("slider"), byId("epsilon"));
form.addEventListener("input", (event) => {
  if (event.target.id === "question") sheet.show("own");
  else if (event.target.id === "kind") sheet.show(byId("kind").value);
  if (sheet.sheet && event.target.closest("[data-own]")) byId("question").value = sheet.text();
  showDependent();
  remember();
  sound = false;
  price = null;
  hideAnswers();
  forgetRehearsal();
  byId("preview-card").classList.add("stale");
  ready();
  refresh();
});
form.addEventListener("submit", (event) => { event.preventDefault(); if (sound && price?.covered) release(); });
byId("add").addEventListener("click", () => { if (sound) addToBasket(asked()); });
startRehearsal(() => { const { aim: _, ...body } = asked(); return byId("n").value ? { ...body, n: Number(byId("n").value) } : body; });
openTable({ status, ready: start, changed: () => { if (sheet) { refresh(); refreshBasket(); } } });
