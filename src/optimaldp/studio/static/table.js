// The table and its ledger, for the pages that spend: choosing a file, the budget, the history, one confirmation, and the truth
// about what was spent when an answer did not arrive.
import { gauge } from "/static/charts.js";
import { offerStart, startForm } from "/static/start.js";
import { ApiError, byId, call, clearErrors, download, el, shownTable, showError } from "/static/studio.js";

let book = null;
const others = new BroadcastChannel("optimaldp");

const words = (answer) => (Array.isArray(answer) && typeof answer[0] === "object" ? `a table of ${answer.length} counts` : Array.isArray(answer) ? answer.map(words).join(", ") || "(none)" : answer !== null && typeof answer === "object" ? Object.entries(answer).map(([name, value]) => `${name}: ${words(value)}`).join(", ") : String(answer));
const level = (line) => (line.delta === "0" ? `ε ${line.epsilon}` : `ε ${line.epsilon}, δ ${line.delta}`);

// Show the table, or the card where one is chosen; *ready* is called with the session as soon as there is a table.
export async function openTable({ status, ready, changed }) {
  const show = (session) => {
    shownTable.number = session.table;
    const isOpen = session.ledger !== null;
    byId("desk").hidden = !isOpen;
    byId("choose").hidden = isOpen;
    if (isOpen) { describe(session); showBook(session.ledger); ready(session); } else offerStart(session);
  };
  chooseFile(show);
  startForm(show);
  const look = async () => {
    if (byId("desk").hidden || document.querySelector("dialog[open]")) return;
    const before = lastEntry();
    try { showBook((await call("session", null)).ledger); } catch (error) { if (error.kind === "AnotherTable") location.reload(); return; }
    if (lastEntry() !== before) changed(); // a check that nobody needs would switch the button off under the pointer
  };
  others.addEventListener("message", ({ data }) => (data === "table" ? location.reload() : look()));
  addEventListener("focus", look); // another program may have spent
  try { show(await call("session", null, { status, words: "Opening the table" })); } catch (error) { showError(error, status); }
}

// Other tabs see a spend at once.
export const tellOthers = () => others.postMessage("spent");

function describe({ data, ledger }) {
  byId("table-words").textContent = data.words;
  byId("read-as").textContent = data.read_as;
  byId("people").textContent = `${ledger.unit ? `Each value of ${ledger.unit} is one person` : "Each row counts as one person"}; neighbours: ${ledger.neighbours}.`;
  byId("another").hidden = !data.given;
}

function chooseFile(show) {
  const status = byId("choose-status"), form = byId("opening");
  byId("file").addEventListener("change", async () => {
    const [file] = byId("file").files;
    if (!file) return;
    clearErrors(byId("choose"), status);
    form.hidden = true;
    try {
      const headers = { "Content-Type": "application/octet-stream", "X-File-Name": encodeURIComponent(file.name) };
      show(await call("upload", file, { status, words: "Copying the file", headers }));
      byId("opening-unit").focus();
      others.postMessage("table");
    } catch (error) { showError(error, status); byId("file").value = ""; } // the same file, mended, can be chosen again
  });
  byId("another").addEventListener("click", () => { byId("choose").hidden = false; byId("file-part").hidden = false; byId("opening").hidden = true; byId("file").value = ""; byId("file").focus(); });
}

const lastEntry = () => book.history.at(-1)?.sequence ?? -1;

// The budget with what the next step would take, and the history with its downloads.
export function showBook(now, next = 0) {
  book = now;
  const total = Number(book.remaining.budget.epsilon);
  if (book.limited) gauge(byId("gauge"), book.share, total > 0 ? next / total : 0, book.words);
  else byId("gauge").replaceChildren();
  const kept = book.kept ? "" : " This record ends with the studio: start it with --data and --ledger for a budget that lasts.";
  byId("budget").textContent = `${book.words}.${book.limited ? "" : " Nothing limits the spend."}${kept}`;
  const save = (line) => el("button", { type: "button", class: "quiet", "aria-label": `Download the document of entry ${line.sequence}`, onclick: () => download(`entry-${line.sequence}.json`, JSON.stringify(line, null, 2)) }, "Download");
  const cells = (line) => [line.time.slice(0, 19).replace("T", " "), line.question, level(line), line.part ?? "", line.recorded ? words(line.answer) : "(spent, no answer recorded)"];
  const heads = ["time (UTC)", "question", "level", "part", "answer", "document"], narrow = [0, 2, 5];
  const hasParts = book.history.some((line) => line.part), shown = (_, i) => i !== 3 || hasParts;
  byId("history").replaceChildren(book.history.length === 0 ? el("p", { class: "note" }, "Nothing was asked yet.") : el("table", { class: "history" },
    el("thead", {}, el("tr", {}, ...heads.filter(shown).map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...[...book.history].reverse().map((line) => el("tr", {}, ...cells(line).map((text, i) => el("td", { "data-head": heads[i], class: text === "" ? "empty" : narrow.includes(i) ? "narrow" : null }, text)).filter(shown), el("td", { "data-head": heads[5], class: "narrow" }, save(line)))))));
}

async function saveReport(kind) {
  const status = byId("status");
  try {
    const made = await call("report", {}, { status, words: "Writing the report" });
    if (kind === "html") download("report.html", made.html, "text/html"); else download("history.csv", made.csv, "text/csv");
  } catch (error) { showError(error, status); }
}
byId("save-report").addEventListener("click", () => saveReport("html"));
byId("save-history").addEventListener("click", () => saveReport("csv"));

// Ask once more before anything is spent. Escape and "Not now" spend nothing; the focus returns to where it was.
let confirmations = 0;
export function confirmSpend({ title = "Spend this from the budget?", text, cautions = [], lines = [] }) {
  const dialog = byId("confirm"), mine = ++confirmations;
  byId("confirm-title").textContent = title;
  byId("confirm-words").textContent = `${text} ${byId("budget").textContent}`;
  byId("confirm-lines").replaceChildren(...lines.map((line) => el("li", {}, line)));
  byId("confirm-cautions").replaceChildren(...cautions.map((line) => el("li", {}, line)));
  dialog.returnValue = "";
  dialog.showModal();
  byId("no").focus();
  return new Promise((resolve) => {
    // A browser tells late that a dialog was closed: the end of an earlier question, told while this one is open, is not its answer.
    const closed = () => {
      const latest = mine === confirmations;
      if (latest && dialog.open) return;
      dialog.removeEventListener("close", closed);
      resolve(latest && dialog.returnValue === "spend");
    };
    dialog.addEventListener("close", closed);
  });
}
byId("yes").addEventListener("click", () => byId("confirm").close("spend"));
byId("no").addEventListener("click", () => byId("confirm").close(""));

// Send what was confirmed, once: the ticket makes a second sending of the same confirmation nothing.
export async function spend(name, body) {
  const truth = byId("truth"), before = lastEntry();
  const headers = { "X-Studio-Ticket": crypto.getRandomValues(new Uint32Array(4)).join("-") };
  truth.replaceChildren();
  try {
    const made = await call(name, { ...body, confirm: true }, { status: truth, words: "Counting and sampling", cancelWords: "A spend that was already written stays spent.", headers });
    showBook(made.ledger);
    tellOthers();
    return made;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    await tellTheTruth(error, before, truth);
    return null;
  }
}

// After a failure the ledger alone knows what was spent: its new entries are shown, whatever became of the answer.
async function tellTheTruth(error, before, place) {
  const say = (...parts) => {
    place.replaceChildren(el("div", { class: "error", role: "alert" }, el("strong", {}, error.message), " ", ...parts,
      el("div", { class: "tools" }, el("button", { type: "button", class: "quiet", onclick: () => place.replaceChildren() }, "Close"))));
    place.scrollIntoView({ block: "nearest" });
  };
  let now;
  try { now = (await call("settled", null)).ledger; } catch {
    say("Whether anything was spent is not known here: the ledger knows. Look at the history when the studio answers again.");
    return;
  }
  showBook(now);
  tellOthers();
  if (error.kind === "BudgetError" || error.status === 400) { say(); return; } // refused before anything was spent: its own words say so
  const fresh = now.history.filter((line) => line.sequence > before);
  if (!fresh.length) { say("Nothing was spent: the ledger has no new entry."); return; }
  say("New in the ledger since you asked, other tabs included:", el("ul", {}, ...fresh.map((line) => el("li", {},
    `${line.question}: ${level(line)} was spent, ${line.recorded ? "and its answer is recorded: ask again, it costs nothing" : "without an answer: that budget is gone"}.`))));
}
