// A question to fill in, from the sheet that its kind describes. This file knows the roles of blanks and nothing of kinds.
import { el } from "/static/studio.js";

export const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
export const named = (name, column = null) => column?.written ?? (/^[a-z_][a-z0-9_]*$/i.test(name) && name.toLowerCase() !== "among" ? name : `"${name.replaceAll('"', '""')}"`);
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
  column: [["column"], ({ column }, of) => (column === "" ? null : named(column, of(column)))],
  condition: [["column", "operator", "value"], ({ column, operator, value }, of) => {
    if (column === "") return null;
    const own = of(column), name = named(column, own), parts = listed(value);
    if (operator === "IS NULL") return `${name} IS NULL`;
    if (operator === "IN") return parts.length ? `${name} IN (${literals(parts, own)})` : null;
    if (operator === "BETWEEN") return parts.length === 2 ? `${name} BETWEEN ${literal(parts[0], own)} AND ${literal(parts[1], own)}` : null;
    return value === "" ? null : `${name} ${operator} ${literal(value, own)}`;
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
  sides: [["count", ...[1, 2, 3, 4].flatMap((k) => [`column${k}`, `kind${k}`, `values${k}`])], (f, of) => {
    const sides = Array.from({ length: Number(f.count) || 1 }, (_, i) => sideText([f[`column${i + 1}`], f[`kind${i + 1}`], f[`values${i + 1}`]], of(f[`column${i + 1}`])));
    return sides.includes(null) ? null : sides.join(", ");
  }],
};
export const MOST_SIDES = 4;
// A column with its public values, as a question and the command line write it; null where they are missing.
export function sideText([name, kind, values], column) {
  const parts = listed(values);
  if (name === "") return null;
  if (kind === "listed") return named(name, column);
  if (kind === "bins") return parts.length > 1 ? `${named(name, column)}: bins=[${parts.map(edge).join(", ")}]` : null;
  return parts.length ? `${named(name, column)}: [${literals(parts, column)}]` : null;
}
// What a column of a table can be split by, the likely one first.
export const SIDE_KINDS = [["options", "one of these values"], ["bins", "in bins with these edges"], ["listed", "as the description lists them"]];
export const likelyKind = (column) => (column?.options ? "listed" : ["whole", "real", "date", "time"].includes(column?.kind) && !column.open ? "bins" : "options");
// Five bins between the public ends of a column, to begin with.
export const likelyBins = (column) => {
  const low = Number(column?.low ?? NaN), high = Number(column?.high ?? NaN), width = (high - low) / 5;
  return Number.isFinite(width) && width > 0 ? Array.from({ length: 6 }, (_, i) => Number((low + i * width).toPrecision(6))).join(", ") : "";
};
const SHORT = new Set(["choice", "number", "percent", "option"]);
const PER_SHEET = new Set(["number", "percent", "percents", "choice"]); // a bound of one question is none of another

// Nobody asks about the column that names people: it stands last.
export const unitLast = (columns, unit) => [...columns.filter((one) => one.name !== unit), ...columns.filter((one) => one.name === unit)];

export class SheetForm {
  // *place* is filled with fields; *columns* come from a schema, or are null: then the sheet's own example is filled in.
  constructor({ place, select, note, sheets, columns = null }) {
    Object.assign(this, { place, select, note, sheets, columns, values: {}, rows: 1 });
    const topics = [...new Set(sheets.map((sheet) => sheet.topic))];
    select.replaceChildren(...topics.map((topic) => el("optgroup", { label: topic }, ...sheets.filter((sheet) => sheet.topic === topic).map((sheet) => el("option", { value: sheet.name }, sheet.title)))), el("option", { value: "own" }, "A question of your own, as text"));
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
      case "sides": return this.sides(sheet, blank, row);
      case "choice": return el("div", {}, label("text", blank.label, blank.hint), this.choice(key("text"), id("text"), blank.choices, blank.start));
      default: return part("text", blank.label, blank.hint, ["number", "percent"].includes(blank.role) ? decimal : { spellcheck: "false" });
    }
  }

  // Several columns, each with its values or bins.
  sides(sheet, blank, row) {
    const key = (field) => this.key(sheet, blank, row, field), count = Math.min(MOST_SIDES, Number(this.values[key("count")] ?? 2));
    this.values[key("count")] = String(count);
    const again = (next, focus) => { this.values[key("count")] = String(next); this.show(sheet.name); (this.place.querySelector(focus) ?? this.place.querySelector("select")).focus(); this.place.dispatchEvent(new Event("input", { bubbles: true })); };
    const one = (k) => {
      const id = (part) => `side-${k}${part}`, free = this.columns?.filter((own) => !Array.from({ length: k - 1 }, (_, i) => this.values[key(`column${i + 1}`)]).includes(own.name)) ?? [];
      const column = this.columns ? this.choice(key(`column${k}`), id(""), this.columns.map((own) => [own.name, own.name]), free[0]?.name ?? this.columns[0].name) : this.input(key(`column${k}`), id(""), ["sex", "age"][k - 1] ?? "", { spellcheck: "false" });
      const own = this.column(column.value), kind = this.choice(key(`kind${k}`), id("-kind"), this.columns && own?.options ? [...SIDE_KINDS].reverse() : SIDE_KINDS.slice(0, 2), this.columns ? likelyKind(own) : ["options", "bins"][k - 1] ?? "options");
      const values = this.input(key(`values${k}`), id("-values"), this.columns ? (kind.value === "bins" ? likelyBins(own) : "") : ["m, f", "0, 18, 65, 120"][k - 1] ?? "", { spellcheck: "false" });
      const label = el("label", { for: id("-values") }, kind.value === "bins" ? "Edges: 0, 18, 65, 120" : "Values, separated by commas");
      const fresh = () => { for (const part of ["kind", "values"]) delete this.values[key(`${part}${k}`)]; again(count, `#${id("")}`); };
      if (this.columns) column.addEventListener("change", fresh); // what was said of another column does not fit this one
      kind.addEventListener("change", () => { delete this.values[key(`values${k}`)]; again(count, `#${id("-kind")}`); });
      const remove = el("button", { type: "button", class: "quiet", "aria-label": `Remove column ${k}`, onclick: () => {
        for (let i = k; i < count; i++) for (const part of ["column", "kind", "values"]) this.values[key(`${part}${i}`)] = this.values[key(`${part}${i + 1}`)];
        for (const part of ["column", "kind", "values"]) delete this.values[key(`${part}${count}`)];
        again(count - 1, "#add-side");
      } }, "Remove");
      return el("fieldset", { class: "side" }, el("legend", {}, k === count && count > 1 ? `Column ${k}, side by side` : `Column ${k}, downwards`), el("div", { class: "row" }, el("div", {}, el("label", { for: id("") }, "Column"), column), el("div", {}, el("label", { for: id("-kind") }, "Its values are"), kind)),
        el("div", { hidden: kind.value === "listed" }, label, values), count > 1 ? el("div", { class: "tools" }, remove) : null);
    };
    return el("div", {}, ...Array.from({ length: count }, (_, i) => one(i + 1)), el("div", { class: "tools" }, el("button", { type: "button", class: "quiet", id: "add-side", disabled: count >= MOST_SIDES, onclick: () => again(count + 1, `#side-${count + 1}`) }, "Add a column")));
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
    made.addEventListener("input", () => { this.offerOptions(made.value); this.offerRange(made.value); });
    if (blank.role === "column") queueMicrotask(() => { this.offerOptions(made.value, true); this.offerRange(made.value, true); });
    return made;
  }

  // A type that lists its values (an enumeration, a boolean) has written the options already.
  offerOptions(name, onlyIfEmpty = false) {
    const field = this.place.querySelector("#options"), options = this.column(name)?.options;
    if (!field || !options || (onlyIfEmpty && field.value !== "")) return;
    field.value = options.join(", ");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // The public ends that the description knows.
  offerRange(name, onlyIfEmpty = false) {
    const own = this.column(name);
    for (const role of ["range", "bands"]) for (const part of ["low", "high", "step"]) {
      const field = this.place.querySelector(`#${role}-${part}`), value = own?.[part] ?? (part === "step" && role === "bands" && own?.low && own?.high ? "1" : "");
      if (!field || (onlyIfEmpty && (field.value !== "" || value === "")) || field.value === value) continue;
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
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
