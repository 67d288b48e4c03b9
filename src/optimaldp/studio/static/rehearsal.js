// A rehearsal: the same question asked of made-up people, as often as one likes. Nothing is read and nothing is spent.
import { answerShown } from "/static/answers.js";
import { numberLine } from "/static/charts.js";
import { byId, call, clearErrors, el, showError } from "/static/studio.js";

const MOST = 12; // draws that are shown below each other
let draws = [], asked = null;

// What was drawn for other inputs does not stay.
export function forgetRehearsal() {
  draws = [];
  byId("rehearsed").replaceChildren();
  byId("rehearse").textContent = "Rehearse on made-up people";
}

export function startRehearsal(body) { asked = body; }

byId("rehearse").addEventListener("click", async () => {
  const status = byId("rehearsal-status"), body = asked();
  clearErrors(byId("rehearsal"), status);
  try {
    const made = await call("rehearse", body, { status, words: "Drawing" });
    if (JSON.stringify(body) !== JSON.stringify(asked())) return;
    draws = [...draws, made].slice(-MOST);
    draw();
  } catch (error) { showError(error, status); }
});

function draw() {
  const last = draws.at(-1), number = last.bars && typeof last.answer === "number" ? last.bars[0] : null;
  const people = `${last.people.toLocaleString("en")} made-up people`, place = el("div", {});
  const truth = last.truth === null ? `${people}. Nothing of your table is in it.` : `${people}, of whom the true answer is ${last.truth}. Nothing of your table is in it.`;
  byId("rehearsed").replaceChildren(el("p", { class: "note" }, truth), place);
  if (number) { numberLine(place, draws.map((one) => one.bars[0]), last.truth === null ? null : Number(last.truth.replaceAll(",", ""))); place.append(el("p", { "aria-live": "polite" }, `Drawn: ${last.said}`)); }
  else if (last.answer !== null && typeof last.answer === "object") place.append(answerShown(last));
  else {
    const counts = new Map();
    for (const one of draws) counts.set(one.said, (counts.get(one.said) ?? 0) + 1);
    const times = [...counts].map(([answer, often]) => `${answer}: ${often}`);
    place.append(el("p", { class: "big" }, String(last.said)), el("p", { class: "note", "aria-live": "polite" }, `${draws.length === 1 ? "One draw" : `${draws.length} draws`}. ${times.join(", ")}.`));
  }
  byId("rehearse").textContent = "Draw again";
}
