// Several questions at once: priced together, charged together or not at all; read from a plan file and written to one.
import { byId, call, capital, clearErrors, download, el, latestOnly, showError } from "/static/studio.js";
import { confirmSpend, showBook, spend } from "/static/table.js";

const KEPT = "optimaldp basket";
const status = byId("basket-status");
let questions = [], price = null, cautions = [], answered = () => {};

const keep = () => { try { sessionStorage.setItem(KEPT, JSON.stringify(questions)); } catch { /* private window */ } };

export function startBasket(whenAnswered) {
  answered = whenAnswered;
  try { questions = JSON.parse(sessionStorage.getItem(KEPT)) ?? []; } catch { questions = []; }
  change(questions);
}

export const addToBasket = (question) => change([...questions, question]);
export const refreshBasket = () => (questions.length ? refresh() : null);

function change(next) {
  questions = next;
  price = null;
  keep();
  draw([]);
  refresh();
}

const refresh = latestOnly(async () => {
  clearErrors(byId("basket"), status);
  if (!questions.length) { draw([]); return; }
  const asked = questions;
  try {
    const made = await call("check_plan", { questions: asked }, { status, words: "Pricing them together" });
    if (asked !== questions) return; // it was changed meanwhile
    price = made.price;
    cautions = [...new Set(made.questions.flatMap((one) => one.cautions ?? []))].map(capital);
    draw(made.questions);
    showBook(made.ledger);
  } catch (error) { showError(error, status); }
});

function draw(shown) {
  const line = (question, i) => {
    const more = Object.entries(question).filter(([name]) => !["question", "epsilon", "delta"].includes(name)).map(([name, value]) => `${name.replace("_", " ")}: ${value}`);
    const level = `ε ${question.epsilon}${question.delta && question.delta !== "0" ? `, δ ${question.delta}` : ""}`, now = shown[i] ?? {};
    return el("li", {}, el("div", {}, now.words ? el("span", { class: "asked" }, `${now.words} `) : null, el("code", {}, question.question), el("span", { class: "note" }, ` ${[level, ...more].join("; ")}${now.recorded ? "; answered before, costs nothing" : ""}`),
      now.running ? el("p", { class: "note running" }, `so far ε ${now.running}`) : null, now.error ? el("p", { class: "field-error", role: "alert" }, now.error) : null),
    el("button", { type: "button", class: "quiet", "aria-label": `Take out question ${i + 1}`, onclick: () => takeOut(i) }, "×"));
  };
  byId("basket-list").replaceChildren(...questions.map(line));
  byId("basket-empty").hidden = questions.length > 0;
  byId("basket-price").textContent = price ? price.words : "";
  byId("ask-all").disabled = !price?.covered;
  byId("ask-all").textContent = price && !price.covered && questions.length ? "They cannot be released" : price?.recorded ? "Show the recorded answers" : `Release all ${questions.length || ""} …`.replace("  ", " ");
  for (const id of ["save-plan", "empty-basket"]) byId(id).disabled = questions.length === 0;
}

function takeOut(i) {
  change(questions.filter((_, k) => k !== i));
  (byId("basket-list").querySelectorAll("button")[Math.min(i, questions.length - 1)] ?? byId("load-plan")).focus();
}

byId("ask-all").addEventListener("click", async () => {
  if (!price?.covered) return;
  const asked = questions, lines = asked.map((one) => one.question);
  if (!price.recorded && !(await confirmSpend({ title: `Spend for ${asked.length} questions together?`, text: `${price.words} All are charged, or none.`, lines, cautions }))) return;
  byId("ask-all").disabled = true;
  const made = await spend("release_plan", { questions: asked });
  if (made) { answered(made.answers); await refresh(); } else { refresh(); byId("empty-basket").focus(); }
});
byId("empty-basket").addEventListener("click", () => { change([]); byId("load-plan").focus(); });
byId("save-plan").addEventListener("click", async () => {
  try { download("plan.toml", (await call("write_plan", { questions }, { status })).plan, "application/toml"); } catch (error) { showError(error, status); }
});
byId("load-plan").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (!file) return;
  try {
    const made = await call("read_plan", { plan: await file.text() }, { status, words: "Reading the plan" });
    // How many people have each level is for a preview alone.
    change([...questions, ...made.questions.map(({ level_sizes: _, ...one }) => ({ ...one, epsilon: String(one.epsilon), delta: String(one.delta ?? "0") }))]);
    byId("plan-words").textContent = made.words;
  } catch (error) { showError(error, status); }
  event.target.value = "";
});
