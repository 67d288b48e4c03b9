// The page: it hands texts to Python and shows what comes back, always as text, never as markup.
// Started from here and not from its own address, so that the policy of this page, which allows no other site, holds for Python too.
const code = `import ${JSON.stringify(new URL(`worker.js${location.search}`, location.href).href)};`;
const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })), { type: "module" });
const at = (name) => document.getElementById(name);
const waiting = new Map();
let last = 0;

worker.onmessage = ({ data: { number, result, problem } }) => {
  const { resolve, reject } = waiting.get(number);
  waiting.delete(number);
  problem === undefined ? resolve(result) : reject(new Error(problem));
};

worker.onerror = (event) => {
  at("state").textContent = `Python could not be loaded: ${event.message ?? "its files are missing"}`;
};

function ask(call, ...values) {
  last += 1;
  const number = last;
  return new Promise((resolve, reject) => {
    waiting.set(number, { resolve, reject });
    worker.postMessage({ number, call, values });
  });
}

function element(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function list(texts) {
  const made = element("ul");
  made.append(...texts.map((text) => element("li", text)));
  return made;
}

function shownAnswer(answer) {
  return typeof answer === "object" ? JSON.stringify(answer) : String(answer);
}

function shownRelease(release) {
  const [kind, heading] =
    release.holds ? ["holds", "It holds."] : release.examined === false ? ["open", "It was not examined."] : ["fails", "It does not hold."];
  const box = element("article", undefined, `release ${kind}`);
  box.append(element("h3", heading));
  if (release.question) box.append(element("p", release.words ?? release.question));
  if (release.holds) {
    if (release.answer !== null && release.answer !== undefined) box.append(element("p", `Answer: ${shownAnswer(release.answer)}`));
    box.append(element("p", release.level, "soft"));
    box.append(element("p", release.means), element("p", "What was checked:"), list(release.checked));
  } else {
    box.append(element("p", release.failure));
  }
  if (release.not_recomputed) {
    box.append(element("p", "Not computed again here (privacy does not depend on it):"));
    box.append(list(release.not_recomputed));
  }
  box.append(element("p", `Computed with ${arithmetic}.`, "soft"));
  return box;
}

let arithmetic = "";

async function examine(text) {
  const place = at("verdict");
  place.replaceChildren(element("p", "Examining …"));
  try {
    const found = await ask("examine", text);
    if (found.problem) place.replaceChildren(element("p", found.problem, "problem"));
    else place.replaceChildren(...found.releases.map(shownRelease));
  } catch (problem) {
    place.replaceChildren(element("p", `The referee stopped: ${problem.message}`, "problem"));
  }
}

const SVG = "http://www.w3.org/2000/svg";

function drawn(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  return made;
}

function curve({ margins, right }) {
  const width = 620, height = 240, left = 50, bottom = 40;
  const low = Math.log(margins[0]), high = Math.log(Math.max(margins.at(-1), margins[0] + 1));
  const x = (margin) => left + ((width - left - 10) * (Math.log(margin) - low)) / (high - low);
  const y = (chance) => height - bottom - (height - bottom - 12) * chance;
  const label = "probability of the right answer, by how many people would have to answer differently";
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const chance of [0, 0.25, 0.5, 0.75, 0.95]) {
    picture.append(drawn("line", { class: "grid", x1: left, x2: width - 10, y1: y(chance), y2: y(chance) }));
    picture.append(drawn("text", { x: left - 6, y: y(chance) + 4, "text-anchor": "end" }, `${100 * chance} %`));
  }
  for (const margin of new Set([0, 0.5, 1].map((share) => margins[Math.round(share * (margins.length - 1))]))) {
    picture.append(drawn("text", { x: x(margin), y: height - bottom + 16, "text-anchor": "middle" }, String(margin)));
  }
  picture.append(drawn("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "people who would have to answer differently"));
  picture.append(drawn("polyline", { class: "curve", points: margins.map((m, i) => `${x(m)},${y(right[i])}`).join(" ") }));
  return picture;
}

let asked = 0;

async function preview() {
  const epsilon = (Number(at("epsilon").value) / 20).toString();
  at("shown").textContent = epsilon;
  asked += 1;
  const mine = asked;
  const found = await ask("previewed", at("question").value, epsilon, at("people").value).catch((problem) => ({ problem: problem.message }));
  if (mine !== asked) return; // the slider has moved on
  if (found.problem) {
    at("preview").replaceChildren(element("p", found.problem, "problem"));
    return;
  }
  const parts = [element("p", found.words), list(found.sentences), element("p", found.means)];
  if (found.curve) parts.push(curve(found.curve));
  at("preview").replaceChildren(...parts);
}

at("file").addEventListener("change", async ({ target }) => target.files[0] && examine(await target.files[0].text()));
at("examine").addEventListener("click", () => examine(at("text").value));
for (const name of ["dragover", "dragenter"]) {
  document.addEventListener(name, (event) => { event.preventDefault(); at("drop").classList.add("over"); });
}
document.addEventListener("dragleave", () => at("drop").classList.remove("over"));
document.addEventListener("drop", async (event) => {
  event.preventDefault();
  at("drop").classList.remove("over");
  if (event.dataTransfer.files[0]) examine(await event.dataTransfer.files[0].text());
});
for (const name of ["question", "people", "epsilon"]) at(name).addEventListener("input", preview);

ask("about").then(({ version, arithmetic: used }) => {
  arithmetic = used;
  at("state").textContent = `Ready: the referee of optimaldp ${version}, computing with ${used}.`;
  at("examine").disabled = false;
  at("epsilon").disabled = false;
  preview();
}).catch((problem) => { at("state").textContent = `Python could not be loaded: ${problem.message}`; });
