// Shared by all pages: requests with progress and cancel, errors in place, small builders, light and dark.

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

export class ApiError extends Error {
  constructor(error, status) {
    super(error.message);
    Object.assign(this, { kind: error.kind, field: error.field, status });
  }
}

const token = document.querySelector('meta[name="studio-token"]').content;
export const shownTable = { number: null }; // a request says which table its page shows

async function send(name, body, signal, more) {
  const headers = { "Content-Type": "application/json", "X-Studio-Token": token, ...(shownTable.number === null ? {} : { "X-Studio-Table": String(shownTable.number) }), ...more };
  const options = body === null ? { headers, signal } : { method: "POST", headers, signal, body };
  let response, text;
  try {
    response = await fetch(`/api/${name}`, options);
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw new ApiError({ kind: "Cancelled", message: "Cancelled." }, 0);
    throw new ApiError({ kind: "Unreachable", message: "The studio does not answer. Is it still running?" }, 0);
  }
  let document_;
  try { document_ = JSON.parse(text); } catch { document_ = {}; }
  if (!response.ok) throw new ApiError(document_.error ?? { kind: "Error", message: `Status ${response.status}` }, response.status);
  return document_;
}

// Send a call. After a moment *status* shows that work goes on, for how long already, and a button that stops it.
export async function call(name, body, { status = null, words = "Working", cancelWords = "", headers = {} } = {}) {
  const stopper = new AbortController();
  const start = performance.now();
  const time = el("span");
  const bar = () => status?.replaceChildren(el("div", { class: "waiting", role: "status" }, el("span", {}, `${words} `, time), el("progress", { "aria-label": words }),
    el("button", { type: "button", class: "quiet", onclick: () => stopper.abort() }, "Cancel"), cancelWords ? el("span", { class: "note" }, cancelWords) : null));
  const show = setTimeout(bar, 500);
  const tick = setInterval(() => { time.textContent = `${Math.round((performance.now() - start) / 1000)} s`; }, 500);
  try {
    const content = body === null || typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
    return await send(name, content, stopper.signal, headers);
  } finally {
    clearTimeout(show);
    clearInterval(tick);
    status?.replaceChildren();
  }
}

// Show an error at the field that it speaks of, if the form has it, else in *status*.
export function showError(error, status, form = null) {
  if (!(error instanceof ApiError)) throw error;
  const name = error.field?.split(/[.[]/)[0];
  const field = name && form ? form.querySelector(`[data-field~="${CSS.escape(name)}"]`) : null;
  const folded = field?.closest("details:not([open])");
  if (folded) folded.open = true; // where the error is told must be seen
  if (field && field.offsetParent !== null) {
    const id = `error-of-${field.id}`;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", id);
    field.insertAdjacentElement("afterend", el("p", { class: "field-error", id, role: "alert" }, error.message));
  } else {
    status.replaceChildren(el("div", { class: "error", role: "alert" }, el("strong", {}, headline(error)), " ", error.message));
    status.scrollIntoView({ block: "nearest" });
  }
}

const headline = (error) => ({ BudgetError: "Refused.", Cancelled: "", SentTwice: "", AnotherTable: "", TooSlow: "Too slow.", TooLarge: "Too large.", Unreachable: "" })[error.kind] ?? "Not possible:";

export function clearErrors(form, status) {
  status.replaceChildren();
  for (const words of form.querySelectorAll(".field-error")) words.remove();
  for (const field of form.querySelectorAll("[aria-invalid]")) { field.removeAttribute("aria-invalid"); field.removeAttribute("aria-describedby"); }
}

// What was typed survives back and reload, in this tab alone; *more* is what a page keeps beside its fields.
const fieldsOf = (root) => [...root.querySelectorAll("input[id], select[id], textarea[id]")].filter((one) => one.type !== "file" && !one.readOnly && !one.closest("[data-own]"));
export function keep(name, root, more = {}) {
  const fields = fieldsOf(root).map((one) => [one.id, one.type === "checkbox" ? one.checked : one.value]);
  try { sessionStorage.setItem(`optimaldp ${name}`, JSON.stringify({ fields: Object.fromEntries(fields), more })); } catch { /* too large, or a private window */ }
}
export function restore(name, root) {
  let kept = null;
  try { kept = JSON.parse(sessionStorage.getItem(`optimaldp ${name}`)); } catch { /* private window */ }
  if (!kept) return null;
  for (const one of fieldsOf(root)) if (one.id in kept.fields) { if (one.type === "checkbox") one.checked = kept.fields[one.id]; else one.value = kept.fields[one.id]; }
  for (const one of root.querySelectorAll("select")) if (one.selectedIndex < 0) one.selectedIndex = 0; // a column that is gone
  return kept.more;
}

// The slider and the field of epsilon move together.
export function tieSlider(slider, field) {
  slider.addEventListener("input", () => { field.value = String(Number((10 ** Number(slider.value)).toPrecision(3))); });
  const follow = () => { if (Number(field.value) > 0) slider.value = Math.log10(Number(field.value)); };
  field.addEventListener("input", follow);
  follow();
  return follow;
}

export const capital = (text) => text[0].toUpperCase() + text.slice(1);

// Run *work* so that one is under way at a time and the last request is never lost: a slider sends many.
// *work* is handed a function that says whether it is still the last one, so that a button goes on once and not at each of them.
export function latestOnly(work) {
  let busy = false, again = false;
  return async function run() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      do { again = false; await work(() => !again); } while (again);
    } finally { busy = false; }
  };
}

export function download(name, text, type = "application/json") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// A picture that stands alone: the colours of the page written into every element.
export function pictureText(picture) {
  const copy = picture.cloneNode(true);
  const mine = [picture, ...picture.querySelectorAll("*")], theirs = [copy, ...copy.querySelectorAll("*")];
  const kept = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight", "text-anchor", "dominant-baseline", "paint-order"];
  mine.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of kept) theirs[i].setAttribute(name, style.getPropertyValue(name));
    theirs[i].removeAttribute("class");
  });
  const [, , width, height] = picture.getAttribute("viewBox").split(" ");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.prepend(svg("rect", { width, height, fill: getComputedStyle(document.documentElement).getPropertyValue("--card").trim() }));
  return new XMLSerializer().serializeToString(copy);
}

export const percent = (value) => {
  if (value === 0 || value === 1) return `${100 * value} %`;
  for (let digits = 0; digits < 12; digits++) {
    const text = (100 * value).toFixed(digits);
    if (Number(text) > 0 && Number(text) < 100) return `${digits === 0 && value < 0.1 ? (100 * value).toPrecision(2) : text} %`;
  }
  return `${100 * value} %`;
};

export const short = (value) => (value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3))));

function theme() {
  const button = byId("theme");
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const apply = () => {
    root.dataset.theme = stored() ?? (dark.matches ? "dark" : "light");
    button.textContent = root.dataset.theme === "dark" ? "Light" : "Dark";
  };
  button.addEventListener("click", () => {
    try { localStorage.setItem("theme", root.dataset.theme === "dark" ? "light" : "dark"); } catch { /* private window */ }
    apply();
  });
  dark.addEventListener("change", apply);
  apply();
}
theme();
