// Private answers: in words, with their intervals, the things to know, the proof behind a click, and a card to share.
import { answerBars, crossTable, intervalBars, numberLine } from "/static/charts.js";
import { byId, capital, download, el } from "/static/studio.js";

// The answer itself: a number in words, numbers by name as bars, a cross table, or what was drawn.
export function answerShown(made) {
  const place = el("div", { class: "answers" });
  const many = made.answer !== null && typeof made.answer === "object";
  if (made.table) crossTable(place, made.table);
  else if (made.bars && many) intervalBars(place, made.bars);
  else if (many) answerBars(place, made.answer);
  else {
    place.append(el("p", { class: "big" }, made.said));
    if (made.bars?.[0].low != null) { const line = el("div", {}); place.append(line); queueMicrotask(() => numberLine(line, made.bars)); } // drawn in its place, whose width it takes
  }
  return place;
}

const quoted = (cell) => `"${String(cell === null ? "" : typeof cell === "object" ? JSON.stringify(cell) : cell).replaceAll('"', '""')}"`;
function asSheet(made) {
  if (made.table) return made.table.csv;
  if (made.bars) return `name,value,low,high\n${made.bars.map((one) => [one.name, one.value, one.low, one.high].map(quoted).join(",")).join("\n")}\n`;
  return `name,value\n${Object.entries(made.answer).map((line) => line.map(quoted).join(",")).join("\n")}\n`;
}

function one(made, number) {
  const many = made.answer !== null && typeof made.answer === "object";
  const spent = made.recorded ? "It was recorded earlier: nothing was spent on it now." : `This cost ${made.spent}. You may publish it.`;
  const save = (name, text, type) => () => download(`release${number ? `-${number}` : ""}.${name}`, text, type);
  return el("article", { class: "answer" }, el("p", { class: "asked" }, made.words), el("p", { class: "note asked-text" }, el("code", {}, made.document.question)), answerShown(made),
    made.warnings.length ? el("ul", { class: "facts cautions" }, ...made.warnings.map((text) => el("li", {}, capital(text)))) : null,
    el("ul", { class: "facts" }, ...made.sentences.slice(1).map((text) => el("li", {}, text))), el("p", { class: "spent" }, spent),
    el("details", { class: "proof" }, el("summary", {}, "Show the proof"), el("dl", {}, ...made.proof.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]))),
    el("div", { class: "tools" }, el("button", { type: "button", class: "quiet save", onclick: save("json", JSON.stringify(made.document, null, 2)) }, "Download with its proof"),
      many || made.bars ? el("button", { type: "button", class: "quiet", onclick: save("csv", asSheet(made), "text/csv") }, "Download as CSV") : null,
      el("button", { type: "button", class: "quiet save-card", onclick: save("html", made.card, "text/html") }, "A card to share")));
}

export function showAnswers(made) {
  byId("answer-title").textContent = made.length === 1 ? "The private answer" : `${made.length} private answers`;
  byId("answer-card").hidden = false;
  byId("answer-list").replaceChildren(...made.map((answer, i) => one(answer, made.length === 1 ? 0 : i + 1)));
  byId("answer-title").focus();
}

// An answer never stands beside inputs that it does not belong to.
export const hideAnswers = () => { byId("answer-card").hidden = true; byId("answer-list").replaceChildren(); };
