// The curator's page: sign in, ask, wait, see, approve. The key lives in this tab and travels in a header.

import { byId, el, latestOnly } from "/static/studio.js";
import { answerShown, previewShown, priceWords } from "/static/answer.js";

const KEY = "optimaldp curator key";
const state = { key: null, me: null, datasets: [], preview: null, usable: null, waiting: null };

class CallError extends Error {
  constructor(error, status) { super(error.message); Object.assign(this, { field: error.field, status }); }
}

async function call(path, body = undefined, more = {}) {
  const headers = { Authorization: `Bearer ${state.key}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...more };
  let response, said;
  try {
    response = await fetch(`/v1/${path}`, { headers, method: body === undefined ? "GET" : "POST", body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", credentials: "omit" });
    said = await response.json();
  } catch {
    throw new CallError({ message: "The service does not answer. Is it still running?" }, 0);
  }
  if (response.status === 401 && state.me) signOut("Your key is not valid any more.");
  if (!response.ok) throw new CallError(said.error ?? { message: `Status ${response.status}` }, response.status);
  return said;
}

const has = (...roles) => roles.some((role) => state.me?.roles.includes(role));
const kept = () => { try { return sessionStorage.getItem(KEY); } catch { return null; } };
const keep = (key) => { try { if (key === null) sessionStorage.removeItem(KEY); else sessionStorage.setItem(KEY, key); } catch { /* private window */ } };

// Errors at the field that they speak of, if the form has it.
function clearErrors(form, status) {
  status.replaceChildren();
  for (const one of form.querySelectorAll(".field-error")) one.remove();
  for (const one of form.querySelectorAll("[aria-invalid]")) { one.removeAttribute("aria-invalid"); one.removeAttribute("aria-describedby"); }
}
function showError(error, status, form = null) {
  if (!(error instanceof CallError)) throw error;
  const name = error.field ? CSS.escape(error.field) : null;
  const field = name && form ? form.querySelector(`[data-field="${name}"], [data-option="${name}"]`) : null;
  if (field) {
    const folded = field.closest("details:not([open])");
    if (folded) folded.open = true;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", `error-of-${field.id}`);
    field.insertAdjacentElement("afterend", el("p", { class: "field-error", id: `error-of-${field.id}`, role: "alert" }, error.message));
  } else status.replaceChildren(el("div", { class: "error", role: "alert" }, error.message));
}

// Views.

const VIEWS = [
  ["ask", "Ask", () => has("asker")],
  ["requests", "Requests", () => has("asker", "approver", "steward", "auditor")],
  ["history", "History", () => has("asker", "steward", "auditor")],
];
const allowed = () => VIEWS.filter(([, , may]) => may());

function show(name) {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== `view-${name}`;
  byId("views").replaceChildren(...(state.me ? allowed().map(([one, title]) => el("a", { href: `#${one}`, "aria-current": one === name ? "page" : null }, title)) : []));
}

async function route() {
  if (!state.me) { show("sign-in"); byId("key").focus(); return; }
  const wanted = location.hash.slice(1), first = allowed()[0]?.[0];
  const name = allowed().some(([one]) => one === wanted) ? wanted : (!has("asker") && has("approver") ? "requests" : first);
  show(name);
  if (name === "ask") await refreshBudget();
  if (name === "requests") await refreshRequests();
  if (name === "history") await refreshHistory();
}

// Sign in and out.

async function enter(key) {
  state.key = key;
  state.me = await call("me");
  keep(key);
  state.datasets = (await call("datasets")).datasets;
  byId("who").textContent = `${state.me.name} · ${state.me.roles.join(", ")}`;
  byId("who").hidden = byId("sign-out").hidden = false;
  for (const id of ["dataset", "history-dataset"]) byId(id).replaceChildren(...state.datasets.map((one) => el("option", { value: one.name }, one.name)));
  showColumns();
  await route();
}

function signOut(words = "") {
  keep(null);
  Object.assign(state, { key: null, me: null, datasets: [], preview: null, usable: null, waiting: null });
  byId("who").hidden = byId("sign-out").hidden = true;
  for (const id of ["answer", "seen", "preview", "budget", "history-budget"]) byId(id).replaceChildren();
  for (const id of ["requests", "history"]) byId(id).tBodies[0].replaceChildren();
  byId("answer-card").hidden = byId("seen-card").hidden = true;
  byId("ask-form").reset();
  byId("sign-in-status").replaceChildren(...(words ? [el("div", { class: "error", role: "alert" }, words)] : []));
  location.hash = "";
  route();
}

byId("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = byId("sign-in"), status = byId("sign-in-status");
  clearErrors(form, status);
  const key = byId("key").value.trim();
  if (!key) { showError(new CallError({ message: "Type or paste your key.", field: "key" }, 0), status, form); byId("key").focus(); return; }
  try {
    if (!/^[\x21-\x7e]+$/.test(key)) throw new CallError({ message: "This is not a key." }, 0);
    await enter(key);
    byId("key").value = "";
  } catch (error) { state.key = state.me = null; showError(error, status, form); byId("key").focus(); }
});
byId("sign-out").addEventListener("click", () => signOut());
addEventListener("hashchange", route);

// Asking.

function showColumns() {
  const chosen = state.datasets.find((one) => one.name === byId("dataset").value);
  const words = (one) => [one.type, one.options ? one.options.join(", ") : null, one.minimum === undefined || one.minimum === null ? null : `${one.minimum} to ${one.maximum ?? "…"}`].filter(Boolean).join(": ");
  byId("columns").replaceChildren(...(chosen?.description?.columns ?? []).map((one) => el("li", {}, el("code", {}, one.name), ` ${words(one)}`)));
}

const READ = {
  switch: (field) => (field.checked ? true : null),
  text: (field) => field.value.trim() || null,
  whole: (field) => (field.value.trim() ? (Number.isInteger(Number(field.value)) ? Number(field.value) : field.value.trim()) : null),
  list: (field) => (field.value.trim() ? field.value.split(",").map((one) => one.trim()).filter(Boolean) : null),
  rules: (field) => {
    const text = field.value.trim();
    return !text ? null : text.includes("=") ? Object.fromEntries(text.split(",").map((one) => one.split("=").map((part) => part.trim()))) : text;
  },
};

function asked() {
  const more = [...byId("more").querySelectorAll("[data-option]")].map((field) => [field.dataset.option, READ[field.dataset.form](field)]).filter(([, value]) => value !== null);
  return { dataset: byId("dataset").value, question: byId("question").value.trim(), epsilon: byId("epsilon").value.trim(), delta: byId("delta").value.trim() || "0", ...Object.fromEntries(more) };
}

async function refreshBudget() {
  const dataset = byId("dataset").value;
  if (!dataset) { byId("budget").replaceChildren(el("p", { class: "note" }, "You have no data set yet. Ask the steward.")); return; }
  try {
    const said = await call(`remaining?dataset=${encodeURIComponent(dataset)}`);
    state.usable = said.usable ?? said.remaining;
    byId("budget").replaceChildren(...budgetShown(said));
  } catch (error) { showError(error, byId("budget")); }
}

function budgetShown(said) {
  const { remaining } = said, spent = Number(remaining.spent.epsilon), whole = Number(remaining.budget.epsilon);
  const meter = Number.isFinite(spent) && Number.isFinite(whole) ? el("meter", { class: "meter", min: 0, max: whole, value: Math.max(0, whole - spent), "aria-label": "Budget that is left" }) : null;
  const month = said.period ? ` in ${said.period}` : "";
  const usable = said.usable && said.usable.epsilon !== remaining.epsilon ? el("p", {}, `You can use ${said.usable.epsilon} of it: the data set has no more.`) : null;
  return [meter, el("p", {}, `${remaining.epsilon} of ${remaining.budget.epsilon} left${month} after ${remaining.entries} question${remaining.entries === 1 ? "" : "s"}${said.shared ? ", shared with others" : ""}.`), usable].filter(Boolean);
}

const preview = latestOnly(async () => {
  const form = byId("ask-form"), status = byId("ask-status"), body = asked();
  clearErrors(form, status);
  state.preview = null;
  byId("ask").disabled = true;
  byId("why").textContent = "";
  if (!body.question || !body.epsilon || !body.dataset) { byId("preview").replaceChildren(el("p", { class: "note" }, "Write a question and a level to see how reliable the answer would be.")); return; }
  try {
    const made = await call("preview", body);
    if (JSON.stringify(asked()) !== JSON.stringify(body)) return;
    state.preview = { made, body };
    byId("preview").replaceChildren(previewShown(made));
    byId("why").textContent = priceWords(made, state.usable);
    byId("ask").disabled = false;
    byId("ask").textContent = made.waits ? "Send to the approver" : "Ask";
  } catch (error) { byId("preview").replaceChildren(); showError(error, status, form); }
});
let timer = null;
byId("ask-form").addEventListener("input", (event) => {
  if (event.target.id === "dataset") { showColumns(); refreshBudget(); }
  byId("ask").disabled = true;
  byId("answer-card").hidden = true; // an answer never stands beside other inputs
  clearTimeout(timer);
  timer = setTimeout(preview, 350);
});

byId("ask-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!state.preview || byId("ask").disabled) return;
  byId("confirm-question").textContent = state.preview.body.question;
  byId("confirm-words").textContent = priceWords(state.preview.made, state.usable);
  byId("confirm").showModal();
  byId("yes").focus();
});
byId("question").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("ask-form").requestSubmit(); });
byId("no").addEventListener("click", () => byId("confirm").close());
byId("yes").addEventListener("click", async () => {
  byId("confirm").close();
  const { body } = state.preview, status = byId("ask-status");
  byId("ask").disabled = true; // a double click asks once
  byId("why").textContent = "";
  status.replaceChildren(el("div", { class: "waiting", role: "status" }, el("span", {}, "The answer comes at its fixed time."), el("progress", { "aria-label": "Asking" })));
  try {
    const said = await call("ask", body, { "Idempotency-Key": crypto.randomUUID?.() ?? String(Math.random()).slice(2) + Date.now() });
    status.replaceChildren();
    if ("answer" in said) showAnswer(said);
    else await waitFor(said.request);
  } catch (error) { status.replaceChildren(); showError(error, status, byId("ask-form")); }
  await refreshBudget();
});

function showAnswer(document_) {
  byId("answer").replaceChildren(answerShown(document_));
  byId("answer-card").hidden = false;
  byId("answer-title").focus();
}

async function waitFor(number) {
  state.waiting = number;
  byId("answer").replaceChildren(el("p", {}, el("span", { class: "badge is-waiting" }, "waiting"), " An approver has to let this question through. Nothing was spent yet. You may close this page: the answer will stand under Requests."));
  byId("answer-card").hidden = false;
  byId("answer-title").focus();
  while (state.waiting === number && state.me) {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    if (state.waiting !== number || !state.me) return;
    let seen;
    try { seen = await call(`requests/${number}`); } catch (error) { if (error.status === 429 || error.status === 0) continue; throw error; }
    if (seen.status === "answered") { state.waiting = null; showAnswer(seen.answer); await refreshBudget(); }
    if (seen.status === "refused" || seen.status === "failed") {
      state.waiting = null;
      byId("answer").replaceChildren(el("p", {}, el("span", { class: `badge is-${seen.status}` }, seen.status), ` ${seen.reason ?? ""}`));
    }
  }
}

// Requests.

const cell = (head, ...content) => el("td", { "data-head": head }, ...content);
const minute = (time) => (time ? time.slice(0, 16).replace("T", " ") : "");

async function refreshRequests() {
  const status = byId("requests-status");
  byId("requests-words").textContent = has("approver") ? "that wait for you, and what became of the others." : "what became of your questions.";
  try {
    const { requests } = await call("requests");
    status.replaceChildren();
    byId("no-requests").hidden = requests.length > 0;
    byId("requests").hidden = requests.length === 0;
    byId("requests").tHead.replaceChildren(el("tr", {}, ...["Asked", "By", "Question", "ε", "State", ""].map((one) => el("th", {}, one))));
    byId("requests").tBodies[0].replaceChildren(...requests.map(requestRow));
  } catch (error) { showError(error, status); }
}

function requestRow(one) {
  const more = Object.entries(one.ask).filter(([name]) => !["question", "epsilon", "delta"].includes(name)).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const mine = one.asker === state.me.name, tools = [];
  if (one.status === "waiting" && has("approver") && !mine) tools.push(
    el("button", { type: "button", class: "approve", onclick: (event) => approve(one, event.target) }, "Approve"),
    el("button", { type: "button", class: "quiet refuse", onclick: () => openRefusal(one) }, "Refuse"));
  if (one.status === "answered" && mine) tools.push(el("button", { type: "button", class: "quiet see", onclick: () => see(one.request) }, "See"));
  const level = one.ask.delta && String(one.ask.delta) !== "0" ? `${one.ask.epsilon}, δ ${one.ask.delta}` : String(one.ask.epsilon);
  const why = one.reason ? el("p", { class: "note" }, one.reason) : null;
  return el("tr", { "data-request": one.request }, cell("Asked", minute(one.created)), cell("By", one.asker), cell("Question", el("code", {}, one.ask.question ?? `${one.kind} ${one.dataset}`), more.length ? el("p", { class: "note" }, more.join("; ")) : null),
    cell("ε", level), cell("State", el("span", { class: `badge is-${one.status}` }, one.status), why), el("td", { class: tools.length ? "narrow" : "narrow empty", "data-head": "" }, tools.length ? el("div", { class: "tools" }, ...tools) : null));
}

async function approve(one, button) {
  button.disabled = true;
  const status = byId("requests-status");
  status.replaceChildren(el("div", { class: "waiting", role: "status" }, "It is carried out.", el("progress", { "aria-label": "Approving" })));
  try { await call(`requests/${one.request}/approve`, {}); await refreshRequests(); } catch (error) { await refreshRequests(); showError(error, status); }
  byId("refresh").focus();
}

let refused = null;
function openRefusal(one) {
  refused = one;
  byId("refusal-question").textContent = one.ask.question ?? one.kind;
  byId("reason").value = "";
  byId("refusal-status").replaceChildren();
  byId("refusal").showModal();
  byId("reason").focus();
}
byId("refuse-no").addEventListener("click", () => byId("refusal").close());
byId("refuse-yes").addEventListener("click", async () => {
  try { await call(`requests/${refused.request}/refuse`, { reason: byId("reason").value.trim() }); } catch (error) { showError(error, byId("refusal-status")); return; }
  byId("refusal").close();
  await refreshRequests();
  byId("refresh").focus();
});

async function see(number) {
  try {
    const seen = await call(`requests/${number}`);
    byId("seen").replaceChildren(answerShown(seen.answer));
    byId("seen-card").hidden = false;
    byId("seen-title").focus();
  } catch (error) { showError(error, byId("requests-status")); }
}
byId("refresh").addEventListener("click", refreshRequests);

// History.

async function refreshHistory() {
  const dataset = byId("history-dataset").value, status = byId("history-status");
  if (!dataset) return;
  const where = `dataset=${encodeURIComponent(dataset)}`;
  try {
    const [said, budget] = await Promise.all([call(`history?${where}`), call(`remaining?${where}`)]);
    status.replaceChildren();
    byId("history-budget").replaceChildren(...budgetShown(budget));
    byId("no-history").hidden = said.history.length > 0;
    byId("history").hidden = said.history.length === 0;
    byId("history").tHead.replaceChildren(el("tr", {}, ...["#", "Time", "By", "Question", "ε", "Answer"].map((one) => el("th", {}, one))));
    byId("history").tBodies[0].replaceChildren(...said.history.map((one) => el("tr", {}, cell("#", String(one.sequence)), cell("Time", minute(one.time)), cell("By", `${one.asker ?? ""}${one.approver ? `, let through by ${one.approver}` : ""}`),
      cell("Question", el("code", {}, one.question)), cell("ε", one.epsilon), cell("Answer", one.recorded ? (typeof one.answer === "object" ? JSON.stringify(one.answer) : String(one.answer)) : "(spent, not recorded)"))));
  } catch (error) { showError(error, status); }
}
byId("history-dataset").addEventListener("change", refreshHistory);

// Back from the organisation's own page: the service gives this browser its key, once.
async function fetchKey() {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}", cache: "no-store" };
  const response = await fetch("/sign-in/key", options);
  history.replaceState(null, "", "/");
  await enter((await response.json()).key);
}

// A tab that was signed in stays so after a reload.
const known = kept(), notLetIn = "Your organisation’s account is not let in here. Ask the steward.";
if (location.hash === "#signed-in") fetchKey().catch(() => signOut(notLetIn));
else if (location.hash === "#sign-in-refused") signOut(notLetIn);
else if (known) enter(known).catch(() => signOut()); else route();
