// Private answers: each with the four things to know first, and the proof behind a click.
import { answerBars } from "/static/charts.js";
import { byId, download, el } from "/static/studio.js";

function one(made, number) {
  const many = made.answer !== null && typeof made.answer === "object", place = el("div", { class: "answers" });
  if (many) answerBars(place, made.answer); else place.append(el("p", { class: "big" }, String(made.answer)));
  const spent = made.recorded ? "It was recorded earlier: nothing was spent on it now." : `${made.spent} was spent on it. You may publish it.`;
  const save = (name, text, type) => () => download(`release${number ? `-${number}` : ""}.${name}`, text, type);
  const asTable = () => `name,value\n${Object.entries(made.answer).map((line) => line.map((cell) => `"${String(typeof cell === "object" ? JSON.stringify(cell) : cell).replaceAll('"', '""')}"`).join(",")).join("\n")}\n`;
  return el("article", { class: "answer" }, el("p", { class: "note asked" }, made.document.question), place,
    el("ul", { class: "facts" }, ...made.sentences.slice(1).map((text) => el("li", {}, text))), el("p", { class: "spent" }, spent),
    el("details", { class: "proof" }, el("summary", {}, "Show the proof"), el("dl", {}, ...made.proof.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]))),
    el("div", { class: "tools" }, el("button", { type: "button", class: "quiet save", onclick: save("json", JSON.stringify(made.document, null, 2)) }, "Download with its proof"),
      many ? el("button", { type: "button", class: "quiet", onclick: () => save("csv", asTable(), "text/csv")() }, "Download as CSV") : null));
}

export function showAnswers(made) {
  byId("answer-title").textContent = made.length === 1 ? "The private answer" : `${made.length} private answers`;
  byId("answer-list").replaceChildren(...made.map((answer, i) => one(answer, made.length === 1 ? 0 : i + 1)));
  byId("answer-card").hidden = false;
  byId("answer-title").focus();
}

// An answer never stands beside inputs that it does not belong to.
export const hideAnswers = () => { byId("answer-card").hidden = true; byId("answer-list").replaceChildren(); };
