// A question to fill in, from the sheet that its kind describes. This file knows the roles of blanks and nothing of kinds.
import { el } from "/static/studio.js";

export const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
export const named = (name) => (/^[a-z_][a-z0-9_]*$/i.test(name) && name.toLowerCase() !== "among" ? name : `"${name.replaceAll('"', '""')}"`);
export const isNumber = (text) => /^[+-]?(0|[1-9]\d*)(\.\d+)?$/.test(text.trim());
export const listed = (text) => text.split(",").map((part) => part.trim()).filter(Boolean);
// A value as SQL writes it. Cells of a CSV are read as the question says: a number stays a number, but 007 and everything else is text.
export const literal = (text, column) => (!column || column.open ? (isNumber(text) ? text.trim() : quoted(text)) : ["text", "date", "time", "other"].includes(column.kind) ? quoted(text) : text.trim());
// Values of one list are of one kind: numbers if all of them are, else texts.
export const literals = (texts, column) => texts.map((text) => ((!column || column.open) && !texts.every(isNumber) ? quoted(text) : literal(text, column))).join(", ");
export const edge = (text) => (isNumber(text) ? text : quoted(text));
const step = (text) => (text === "" ? "" : `, step=${/^[\d.]+$/.test(text) ? text : quoted(text)}`);
const share = (text) => (Number.isFinite(Number(text)) ? String(Number((Number(text) / 100).toPrecision(12))) : text);
const inBrackets = (text) => (/\[(.*)\]/.exec(text)?.[1] ?? text).replaceAll("'", "");

const OPERATORS = [["=", "is"], ["!=", "is not"], ["<", "below"], ["<=", "at most"], [">", "above"], [">=", "at least"], ["IN", "is one of"], ["BETWEEN", "is between"], ["IS NULL", "is missing"]];

// The fields of each role (their names), and what they write into the question: null where something is missing.
const ROLES = {
  column: [["column"], ({ column }) => (column === "" ? null : named(column))],
  condition: [["column", "operator", "value"], ({ column, operator, value }, of) => {
    if (column === "") return null;
    if (operator === "IS NULL") return `${named(column)} IS NULL`;
    const parts = listed(value);
    if (operator === "IN") return parts.length ? `${named(column)} IN (${literals(parts, of(column))})` : null;
    if (operator === "BETWEEN") return parts.length === 2 ? `${named(column)} BETWEEN ${literal(parts[0], of(column))} AND ${literal(parts[1], of(column))}` : null;
    return value === "" ? null : `${named(column)} ${operator} ${literal(value, of(column))}`;
  }],
  predicate: [["text"], ({ text }) => text.trim() || null],
  number: [["text"], ({ text }) => text.trim() || null],
  percent: [["text"], ({ text }) => (text.trim() === "" ? null : share(text))],
  percents: [["text"], ({ text }) => (listed(text).length ? `[${listed(text).map(share).join(", ")}]` : null)],
  option: [["text"], ({ text }, of, column) => (text.trim() === "" ? null : literal(text.trim(), of(column)))],
  options: [["text"], ({ text }, of, column) => (listed(text).length ? `[${literals(listed(text), of(column))}]` : null)],
  range: [["low", "high", "step"], (f) => (f.low === "" || f.high === "" ? null : `range=[${edge(f.low)}, ${edge(f.high)}]${step(f.step)}`)],
  bands: [["edges", "low", "high", "step"], (f) => (listed(f.edges).length > 1 ? `bins=[${listed(f.edges).map(edge).join(", ")}]` : f.low === "" || f.high === "" || f.step === "" ? null : `range=[${edge(f.low)}, ${edge(f.high)}]${step(f.step)}`)],
  choice: [["text"], ({ text }) => text],
};
const SHORT = new Set(["choice", "number", "percent", "option"]);
const PER_SHEET = new Set(["number", "percent", "percents", "choice"]); // a bound of one question is none of another

export class SheetForm {
  // *place* is filled with fields; *columns* come from a schema, or are null: then the sheet's own example is filled in.
  constructor({ place, select, note, sheets, columns = null }) {
    Object.assign(this, { place, select, note, sheets, columns, values: {}, rows: 1 });
    select.replaceChildren(...sheets.map((sheet) => el("option", { value: sheet.name }, sheet.title)), el("option", { value: "own" }, "A question of your own, as text"));
  }

  get sheet() { return this.sheets.find((one) => one.name === this.select.value) ?? null; }

  column = (name) => this.columns?.find((one) => one.name === name) ?? null;

  state() { return { kind: this.select.value, rows: this.rows, values: this.values }; }

  restore({ kind, rows, values }) {
    Object.assign(this, { rows, values });
    this.show(kind);
  }

  show(kind) {
    this.select.value = kind;
    if (this.select.selectedIndex < 0) this.select.selectedIndex = 0;
    const sheet = this.sheet;
    this.note.textContent = sheet?.note ?? "";
    this.note.hidden = !sheet?.note;
    if (!sheet) { this.place.replaceChildren(); return; }
    this.rows = Math.min(this.rows, sheet.most);
    const rows = Array.from({ length: this.rows }, (_, i) => this.rowFields(sheet, i + 1));
    this.place.replaceChildren(...rows, ...(sheet.joined.length ? [this.joining(sheet)] : []));
  }

  rowFields(sheet, row) {
    // Short fields that follow each other stand in one line: at least | 30.
    const fields = [];
    for (const blank of this.shown(sheet)) {
      const made = this.fields(sheet, blank, row), short = SHORT.has(blank.role), last = fields.at(-1);
      if (short && last?.className === "row short") last.append(made);
      else fields.push(short ? el("div", { class: "row short" }, made) : made);
    }
    if (!sheet.joined.length) return el("div", {}, ...fields);
    const remove = row > 1 ? el("button", { type: "button", class: "quiet", onclick: () => this.resize(sheet, this.rows - 1) }, "Remove this one") : null;
    return el("fieldset", {}, el("legend", {}, row === 1 ? "The first" : row === 2 ? "The second" : "The third"), ...fields, row === this.rows && remove ? el("div", { class: "tools" }, remove) : null);
  }

  joining(sheet) {
    const more = el("button", { type: "button", class: "quiet", id: "add-threshold", disabled: this.rows >= sheet.most, onclick: () => this.resize(sheet, this.rows + 1) }, "Add another");
    const word = this.choice(`${sheet.name}.joined`, "joined", sheet.joined.map((one) => [one, one === "and" ? "all of them hold" : "at least one holds"]), sheet.joined[0]);
    return el("div", {}, el("label", { for: "joined" }, "The answer is yes if"), word, el("div", { class: "tools" }, more));
  }

  resize(sheet, rows) {
    const grew = rows > this.rows;
    this.rows = rows;
    this.show(sheet.name);
    (grew ? this.place.querySelectorAll("fieldset")[rows - 1].querySelector("select, input") : this.place.querySelector("#add-threshold")).focus();
    this.place.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // Without a table nothing is asked of anybody: among whom does not matter.
  shown(sheet) { return sheet.blanks.filter((blank) => this.columns || blank.role !== "predicate"); }

  key(sheet, blank, row, field) { return `${PER_SHEET.has(blank.role) ? `${sheet.name}.` : ""}${blank.name}.${row}.${field}`; }

  start(blank, field) {
    if (blank.start) return blank.start;
    if (this.columns) return "";
    const ends = listed(inBrackets(blank.sample)), [name, , ...rest] = blank.sample.split(" ");
    const own = { column: blank.role === "condition" ? name : blank.sample, value: rest.join(" ").replaceAll("'", ""), edges: blank.role === "bands" ? inBrackets(blank.sample) : "", low: blank.role === "range" ? ends[0] : "", high: blank.role === "range" ? ends[1] : "" };
    if (field !== "text") return own[field] ?? "";
    return blank.optional ? "" : blank.role === "options" || blank.role === "option" ? inBrackets(blank.sample) : blank.sample;
  }

  fields(sheet, blank, row) {
    const id = (field) => `${blank.name}${row > 1 ? `-${row}` : ""}${["text", blank.role].includes(field) ? "" : `-${field}`}`;
    const key = (field) => this.key(sheet, blank, row, field);
    const label = (field, text, hint) => el("label", { for: id(field) }, text, hint ? el("small", {}, ` ${hint}`) : null);
    const input = (field, more = {}) => this.input(key(field), id(field), this.start(blank, field), more);
    const decimal = { inputmode: "decimal" };
    const part = (field, text, hint, more = decimal) => el("div", {}, label(field, text, hint), input(field, more));
    switch (blank.role) {
      case "column": return el("div", {}, label("column", blank.label, this.columns ? "from the schema" : blank.hint), this.columnField(key("column"), id("column"), blank));
      case "condition": {
        const value = input("value");
        const operator = this.choice(key("operator"), id("operator"), OPERATORS, "=");
        const hint = () => { value.placeholder = { IN: "a, b, c", BETWEEN: "18, 65" }[operator.value] ?? ""; value.parentElement.hidden = operator.value === "IS NULL"; };
        operator.addEventListener("input", hint);
        const made = el("div", { role: "group", "aria-label": blank.label }, el("p", { class: "label" }, blank.label, blank.hint ? el("small", {}, ` ${blank.hint}`) : null),
          el("div", { class: "row condition" }, el("div", {}, label("column", "column"), this.columnField(key("column"), id("column"), blank)),
            el("div", {}, label("operator", "is"), operator), el("div", {}, label("value", "value"), value)));
        hint();
        return made;
      }
      case "range": return el("div", { class: "row" }, part("low", "From", "public"), part("high", "to", "public"), part("step", "in steps of", "may stay empty"));
      case "bands": return el("div", {}, part("edges", "Edges of the bands", "public: 0, 18, 65, 120", {}), el("p", { class: "note or" }, "or a range in equal steps:"), el("div", { class: "row" }, part("low", "From"), part("high", "to"), part("step", "in steps of")));
      case "choice": return el("div", {}, label("text", blank.label, blank.hint), this.choice(key("text"), id("text"), blank.choices, blank.start));
      default: return part("text", blank.label, blank.hint, ["number", "percent"].includes(blank.role) ? decimal : { spellcheck: "false" });
    }
  }

  remember(made, key) {
    made.addEventListener("input", () => { this.values[key] = made.value; });
    this.values[key] = made.value;
    return made;
  }

  input(key, id, start, more) {
    const made = el("input", { id, "data-field": "sheet", ...more });
    made.value = this.values[key] ?? start;
    return this.remember(made, key);
  }

  choice(key, id, choices, start) {
    const made = el("select", { id }, ...choices.map(([value, words]) => el("option", { value }, words)));
    made.value = this.values[key] ?? start;
    if (made.selectedIndex < 0) made.selectedIndex = 0;
    return this.remember(made, key);
  }

  columnField(key, id, blank) {
    if (!this.columns) return this.input(key, id, this.start(blank, "column"), { spellcheck: "false" });
    const made = this.choice(key, id, this.columns.map((one) => [one.name, one.open || blank.role === "condition" ? one.name : `${one.name} (${one.words})`]), "");
    made.addEventListener("input", () => this.offerOptions(made.value));
    if (blank.role === "column") queueMicrotask(() => this.offerOptions(made.value, true));
    return made;
  }

  // A type that lists its values (an enumeration, a boolean) has written the options already.
  offerOptions(name, onlyIfEmpty = false) {
    const field = this.place.querySelector("#options"), options = this.column(name)?.options;
    if (!field || !options || (onlyIfEmpty && field.value !== "")) return;
    field.value = options.join(", ");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // The text of the question; empty until everything is there.
  text() {
    const sheet = this.sheet;
    if (!sheet) return "";
    const rows = Array.from({ length: this.rows }, (_, i) => this.rowText(sheet, i + 1));
    return rows.includes(null) ? "" : rows.join(` ${this.values[`${sheet.name}.joined`] ?? sheet.joined[0]} `);
  }

  rowText(sheet, row) {
    const ownColumn = this.values[`column.${row}.column`] ?? "";
    const written = {};
    for (const blank of this.shown(sheet)) {
      const [fields, write] = ROLES[blank.role];
      const values = Object.fromEntries(fields.map((field) => [field, this.values[this.key(sheet, blank, row, field)] ?? ""]));
      const piece = write(values, this.column, ownColumn);
      if (piece === null && !blank.optional) return null;
      written[blank.name] = piece === null ? "" : blank.before + piece;
    }
    return sheet.text.replace(/\{(\w+)\}/g, (_, name) => written[name] ?? "");
  }
}
