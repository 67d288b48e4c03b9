// How previews and answers are shown: from their documents alone.

import { el } from "/static/studio.js";

const list = (sentences, kind = "facts") => el("ul", { class: kind }, ...sentences.map((one) => el("li", {}, one)));
const shown = (value) => (value !== null && typeof value === "object" ? JSON.stringify(value) : String(value));

export function previewShown(preview) {
  const right = { "at most 5 %": "Right in 95 % of cases", "at most 1 %": "Right in 99 % of cases", 0: "Always right" };
  const sure = Object.entries(preview.reliable_from ?? {}).filter(([, margin]) => margin !== null)
    .map(([name, margin]) => `${right[name] ?? name} from a margin of ${margin}.`);
  const said = [...sure, ...(preview.off ?? []), ...(preview.notes ?? [])];
  return list(said.length ? said : ["At this level the answer is not reliable at any margin."]);
}

export function priceWords(preview, usable) {
  const cost = `ε = ${preview.epsilon}${preview.delta === "0" ? "" : `, δ = ${preview.delta}`}`;
  const left = usable ? ` ${usable.epsilon} is left for you.` : "";
  return `This costs ${cost}, which never comes back.${left}${preview.waits ? " An approver has to let it through; nothing is spent before." : ""}`;
}

export function answerShown(document_) {
  const certificate = document_.certificate ?? {};
  const replayed = document_.replayed ?? document_.recorded === true;
  const spent = document_.spent ?? {};
  const price = replayed ? "This answer was recorded before: nothing was spent on it now." : `This cost ε = ${spent.epsilon}${spent.delta && spent.delta !== "0" ? `, δ = ${spent.delta}` : ""}. You may publish it.`;
  const facts = [certificate.protected && `Protected: ${certificate.protected}; ${certificate.neighbours}.`, certificate.epsilon_means, certificate.reliable].filter(Boolean);
  const save = el("button", { type: "button", class: "quiet", onclick: () => download(document_) }, "Save as JSON");
  return el("div", { class: "answer" }, el("p", { class: "note" }, el("code", {}, document_.question)), answerItself(document_), el("p", { class: "spent" }, price), list(facts), el("div", { class: "tools" }, save));
}

function answerItself(document_) {
  const { answer, interval, confidence } = document_;
  if (Array.isArray(answer) && answer.length && typeof answer[0] === "object") return tableOf(Object.keys(answer[0]), answer.map(Object.values));
  if (Array.isArray(answer)) return el("p", { class: "big" }, answer.map(shown).join(", "));
  if (answer !== null && typeof answer === "object") return tableOf(["", ""], Object.entries(answer));
  const range = interval ? ` (${interval[0]} to ${interval[1]}, ${Math.round(100 * Number(confidence ?? 0.95))} %)` : "";
  return el("p", { class: "big" }, shown(answer), range ? el("small", { class: "note" }, range) : null);
}

function tableOf(heads, rows) {
  const head = heads.some(Boolean) ? el("thead", {}, el("tr", {}, ...heads.map((one) => el("th", {}, one)))) : null;
  const body = rows.map(([first, ...others]) => el("tr", {}, el("th", {}, shown(first)), ...others.map((one) => el("td", { class: "number" }, shown(one)))));
  return el("div", { class: "scroll" }, el("table", { class: "answers" }, head, el("tbody", {}, ...body)));
}

function download(document_) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(document_, null, 2)], { type: "application/json" }));
  el("a", { href: address, download: "answer.json" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
