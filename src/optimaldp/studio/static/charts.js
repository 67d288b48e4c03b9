// Pictures drawn in the browser: curves, bars, heat maps. Every series differs by colour and by dashes.
import { el, percent, short, svg } from "/static/studio.js";

const DASHES = ["", "9 4", "3 3", "10 3 2 3", "14 4", "2 5", "6 2 2 2 2 2", "12 2"];

export const legend = (names) => el("ul", { class: "legend" }, ...names.map((name, i) => el("li", {},
  svg("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, svg("line", { x1: 0, x2: 34, y1: 6, y2: 6, class: `curve s${i % 8}${i === 0 ? " ours" : ""}`, "stroke-dasharray": DASHES[i % 8] })), name)));

const ticksOf = (low, high, log, most = 6) => {
  if (log) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const step of high / low > 300 ? [1] : high / low > 20 ? [1, 3] : [1, 2, 5]) ticks.push(step * 10 ** power);
    return ticks.filter((t) => t >= low * 0.999 && t <= high * 1.001);
  }
  const rough = (high - low) / most, unit = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((k) => k * unit).find((k) => k >= rough) ?? 1;
  const ticks = [];
  for (let t = Math.ceil(low / step) * step; t <= high + 1e-9; t += step) ticks.push(Number(t.toPrecision(10)));
  return ticks;
};

// Curves over the margin: *series* is [[name, values], ...]. With *errors* the error is shown on a logarithmic scale.
export function curves(place, { x, series, marks = [], errors = false, xLabel, yLabel, title }) {
  // As wide as its place, so that a phone shows the letters in their own size.
  const W = Math.min(720, Math.max(320, Math.floor(place.clientWidth || 720))), narrow = W < 560, H = narrow ? 300 : 380, left = 62, right = 16, top = 26, bottom = 52;
  const logX = x[x.length - 1] / x[0] > 40;
  const floor = Math.max(1e-12, Math.min(...series.flatMap(([, values]) => values.filter((v) => v > 0)).concat([0.01])));
  const yLow = errors ? 10 ** Math.floor(Math.log10(floor)) : 0, yHigh = 1;
  const last = x[x.length - 1] === x[0] ? x[0] + 1 : x[x.length - 1];
  const px = (v) => left + (W - left - right) * (logX ? Math.log(v / x[0]) / Math.log(last / x[0]) : (v - x[0]) / (last - x[0]));
  const py = (v) => {
    const share = errors ? Math.log(Math.max(v, yLow) / yLow) / Math.log(yHigh / yLow) : v;
    return H - bottom - (H - top - bottom) * share;
  };
  const shown = (value) => (errors ? value : 1 - value);
  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "chart", role: "img", "aria-label": title, tabindex: 0 });
  const yTicks = errors ? ticksOf(yLow, yHigh, true).filter((t) => Math.log10(t) % 1 === 0) : [0, 0.25, 0.5, 0.75, 0.9, 1];
  for (const t of yTicks) picture.append(svg("line", { x1: left, x2: W - right, y1: py(t), y2: py(t), class: "grid" }),
    svg("text", { x: left - 8, y: py(t) + 4, "text-anchor": "end", class: "soft" }, errors ? (t === 1 ? "1" : t >= 0.001 ? String(t) : `1e${Math.round(Math.log10(t))}`) : percent(t)));
  for (const t of ticksOf(x[0], last, logX, narrow ? 4 : 6).filter((t) => t % 1 === 0)) picture.append(svg("line", { x1: px(t), x2: px(t), y1: H - bottom, y2: H - bottom + 5, class: "axis" }),
    svg("text", { x: px(t), y: H - bottom + 20, "text-anchor": "middle", class: "soft" }, String(t)));
  picture.append(svg("line", { x1: left, x2: W - right, y1: H - bottom, y2: H - bottom, class: "axis" }),
    svg("text", { x: (left + W - right) / 2, y: H - 10, "text-anchor": "middle" }, narrow ? xLabel.split(":")[0] : xLabel), svg("text", { x: 8, y: 15 }, yLabel));
  marks.filter(([, at]) => at !== null && at >= x[0] && at <= last).forEach(([words, at], i) => picture.append(
    svg("line", { x1: px(at), x2: px(at), y1: top, y2: H - bottom, class: "guide" }),
    svg("text", { x: px(at) + (px(at) > W - 130 ? -6 : 6), y: H - bottom - 8 - 18 * i, "text-anchor": px(at) > W - 130 ? "end" : "start", class: "soft halo" }, words)));
  // Ours first and wide: a rival that coincides with it stays visible on top.
  series.forEach(([name, values], i) => picture.append(svg("path", {
    class: `curve s${i % 8}${i === 0 ? " ours" : ""}`, "stroke-dasharray": DASHES[i % 8], "data-series": name,
    d: values.map((v, k) => `${k ? "L" : "M"}${px(x[k]).toFixed(1)} ${py(shown(v)).toFixed(1)}`).join("") })));
  const guide = svg("line", { y1: top, y2: H - bottom, class: "axis", visibility: "hidden" });
  picture.append(guide);
  const readout = el("p", { class: "readout", "aria-live": "polite" }, "Point at the picture, or focus it and use the arrow keys, to read values.");
  let chosen = -1;
  const choose = (k) => {
    chosen = Math.min(x.length - 1, Math.max(0, k));
    for (const name of ["x1", "x2"]) guide.setAttribute(name, px(x[chosen]));
    guide.setAttribute("visibility", "visible");
    readout.textContent = `margin ${x[chosen]}: ${series.map(([name, values]) => `${name} ${errors ? short(values[chosen]) : percent(1 - values[chosen])}`).join(" · ")}`;
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect(), at = ((event.clientX - box.left) / box.width) * W;
    choose(x.reduce((best, v, k) => (Math.abs(px(v) - at) < Math.abs(px(x[best]) - at) ? k : best), 0));
  });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { event.preventDefault(); choose(chosen + step); }
  });
  place.replaceChildren(picture, legend(series.map(([name]) => name)), readout);
  return picture;
}

// Answers by group or counts by option: a table, with a bar beside every count; a table with heads where each group has several.
export function answerBars(place, answers) {
  const rows = Array.isArray(answers) ? answers.map((value, i) => [String(i + 1), value]) : Object.entries(answers);
  if (!rows.length) { place.replaceChildren(el("p", { class: "big" }, "(none)")); return; }
  const shown = (value) => (Array.isArray(value) ? value.join(", ") : value !== null && typeof value === "object" ? Object.entries(value).map(([name, one]) => `${name}: ${one}`).join(", ") : String(value));
  const several = rows.every(([, value]) => value !== null && typeof value === "object" && !Array.isArray(value));
  const cell = (value) => el("td", { class: typeof value === "number" ? "number" : "" }, shown(value));
  if (several) {
    const heads = Object.keys(rows[0][1]);
    place.replaceChildren(el("div", { class: "scroll" }, el("table", { class: "answers" }, el("thead", {}, el("tr", {}, el("td", {}), ...heads.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...rows.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), ...heads.map((head) => cell(value[head]))))))));
    return;
  }
  const most = Math.max(1, ...rows.map(([, value]) => (typeof value === "number" ? value : 0)));
  const counted = rows.some(([, value]) => typeof value === "number");
  const bar = (value) => svg("svg", { viewBox: "0 0 200 14", class: "answer-bar", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { x: 0, y: 1, width: Math.max(0, (200 * value) / most), height: 12, class: "f0" }));
  place.replaceChildren(el("table", { class: "answers" }, el("tbody", {}, ...rows.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name),
    cell(value), counted ? el("td", { class: "bar-cell" }, typeof value === "number" ? bar(value) : "") : null)))));
}

const figures = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(5)).toLocaleString("en", { maximumSignificantDigits: 5 }));

// Numbers with their intervals: a bar for each, a whisker over it, and the ends in words.
export function intervalBars(place, bars) {
  const low = Math.min(0, ...bars.flatMap((one) => [one.value, one.low ?? 0])), most = Math.max(...bars.flatMap((one) => [one.value, one.high ?? 0]), low + 1e-12);
  const at = (value) => 2 + (296 * (value - low)) / (most - low);
  const picture = (one) => svg("svg", { viewBox: "0 0 300 18", class: "answer-bar whiskers", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { x: Math.min(at(0), at(one.value)), y: 3, width: Math.abs(at(one.value) - at(0)), height: 12, class: "f0" }),
    one.low === null ? null : svg("path", { class: "whisker", d: `M${at(one.low)} 9H${at(one.high)}M${at(one.low)} 4V14M${at(one.high)} 4V14` }));
  const ends = (one) => (one.low === null ? "no interval" : `${figures(one.low)} to ${figures(one.high)}`);
  place.replaceChildren(el("div", { class: "scroll" }, el("table", { class: "answers" }, el("tbody", {}, ...bars.map((one) => el("tr", {}, el("th", { scope: "row" }, one.name), el("td", { class: "number" }, figures(one.value)),
    el("td", { class: "bar-cell" }, picture(one)), el("td", { class: "note ends-cell" }, ends(one))))))),
  el("p", { class: "note" }, "The whiskers are 95 % intervals: each covers the true number 19 times in 20."));
}

// One number on a line, or several draws of it below each other, with what is true if that is known.
export function numberLine(place, draws, truth = null) {
  const all = draws.flatMap((one) => [one.value, one.low ?? one.value, one.high ?? one.value]).concat(truth === null ? [] : [truth]);
  const spread = Math.max(...all) - Math.min(...all) || Math.abs(all[0]) / 10 || 1, low = Math.min(...all) - spread / 8, high = Math.max(...all) + spread / 8;
  const W = Math.min(620, Math.max(300, Math.floor(place.clientWidth || 620))), gap = 22, H = 34 + gap * draws.length, at = (value) => 14 + ((W - 28) * (value - low)) / (high - low);
  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "chart line", role: "img", "aria-label": draws.map((one) => `${figures(one.value)}${one.low === null ? "" : `, between ${figures(one.low)} and ${figures(one.high)}`}`).join("; ") + (truth === null ? "" : `; the truth is ${figures(truth)}`) });
  for (const tick of ticksOf(low, high, false, W < 400 ? 4 : 6)) picture.append(svg("line", { x1: at(tick), x2: at(tick), y1: H - 26, y2: H - 21, class: "axis" }), svg("text", { x: at(tick), y: H - 6, "text-anchor": "middle", class: "soft" }, figures(tick)));
  picture.append(svg("line", { x1: 14, x2: W - 14, y1: H - 26, y2: H - 26, class: "axis" }));
  if (truth !== null) picture.append(svg("line", { x1: at(truth), x2: at(truth), y1: 0, y2: H - 26, class: "truth-line" }));
  draws.forEach((one, k) => { const y = 12 + gap * k; picture.append(...(one.low === null ? [] : [svg("path", { class: "whisker", d: `M${at(one.low)} ${y}H${at(one.high)}M${at(one.low)} ${y - 5}V${y + 5}M${at(one.high)} ${y - 5}V${y + 5}` })]), svg("circle", { cx: at(one.value), cy: y, r: 5, class: "f0" })); });
  place.replaceChildren(picture);
}

// A cross table with its margins; the darker a cell, the more people. Counts that noise may have made are marked.
export function crossTable(place, table) {
  if (!table.rows) { place.replaceChildren(el("p", { class: "note" }, "The table is too large to be shown: download it.")); return; }
  const most = Math.max(1, ...table.rows.flatMap((row) => row.cells.map((cell) => cell.count)));
  const cell = (one) => {
    const made = el("td", { class: `number${one.note ? " doubtful" : ""}`, title: `${one.interval[0]} to ${one.interval[1]} with 95 %` }, figures(one.count), one.percent === null ? null : el("small", {}, ` ${one.percent.toFixed(1)} %`), one.note ? el("span", { class: "mark", "aria-label": one.note }, "*") : null);
    made.style.setProperty("--share", String(Math.round((100 * one.count) / most)));
    return made;
  };
  const down = table.names.slice(0, -1), last = table.names.at(-1), margin = table.margins[last], reach = margin.length ? margin[0].interval[1] - margin[0].count : 0;
  const head = [el("tr", {}, ...down.map((name) => el("th", { scope: "col", rowspan: 2 }, name)), el("th", { scope: "colgroup", colspan: table.columns.length }, last), el("th", { scope: "col", rowspan: 2, class: "number" }, "all")), el("tr", {}, ...table.columns.map((name) => el("th", { scope: "col", class: "number" }, name)))];
  const body = table.rows.map((row, k) => el("tr", {}, ...row.names.map((name, i) => { // a value that goes on stands once
    const before = table.rows[k - 1]?.names, repeats = before && row.names.slice(0, i + 1).every((own, j) => own === before[j]);
    return el("th", { scope: "row", class: repeats ? "again" : null }, name);
  }), ...row.cells.map(cell), el("td", { class: "number margin" }, figures(row.sum), el("small", {}, ` ± ${row.reach}`))));
  const foot = el("tr", {}, ...(down.length ? [el("th", { scope: "row", colspan: down.length }, "all")] : []), ...margin.map((one) => el("td", { class: "number margin" }, figures(one.count), el("small", {}, ` ± ${reach}`))), el("td", { class: "number margin" }, figures(table.total)));
  place.replaceChildren(el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "cross table" }, el("table", { class: "cross" }, el("thead", {}, ...head), el("tbody", {}, ...body), el("tfoot", {}, foot))),
    el("p", { class: "note" }, `Each count is off by at most ${table.reach} in 95 % of cases; * marks counts that are too small to rely on. Sums come from the noisy counts, unbiased, so they need not be the sums of the counts shown.`));
}

// What different mechanisms are expected to be off, ours first.
export function errorBars(place, errors) {
  const rows = Object.entries(errors), most = Math.max(...rows.map(([, value]) => value), 1e-300);
  place.replaceChildren(el("p", { class: "label" }, "Expected error, at the same level"), el("table", { class: "answers" }, el("tbody", {}, ...rows.map(([name, value], i) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "number" }, short(value)),
    el("td", { class: "bar-cell" }, svg("svg", { viewBox: "0 0 200 14", class: "answer-bar", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { x: 0, y: 1, width: (200 * value) / most, height: 12, class: i === 0 ? "f0" : "f1" }))))))));
}

// What an attacker gains: the chance before, and what the answer can add.
export function gainBar(place, before, after, gained = "gained") {
  const W = 720, H = 30, at = (v) => 2 + (W - 4) * v;
  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "chart bar", preserveAspectRatio: "none", role: "img", "aria-label": `before ${percent(before)}, after ${percent(after)}` },
    svg("rect", { x: 2, y: 2, width: W - 4, height: 26, rx: 4, class: "trough" }),
    svg("rect", { x: 2, y: 2, width: at(before) - 2, height: 26, rx: 4, class: "bar-before" }),
    svg("rect", { x: at(before), y: 2, width: Math.max(1.5, at(after) - at(before)), height: 26, class: "bar-gain fill-move" }));
  place.replaceChildren(picture, el("ul", { class: "legend" }, key("bar-before", `before ${percent(before)}`), key("bar-gain", `${gained} ${Math.ceil(1000 * (after - before) - 1e-9) / 10} %`)));
}

const key = (colour, words) => el("li", {}, svg("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, svg("rect", { x: 8, width: 18, height: 12, rx: 2, class: colour })), words);

// How much of the budget is spent; striped where the next release would spend.
export function gauge(place, share, next, words) {
  const W = 720, H = 34, at = (v) => (W - 4) * Math.min(1, v);
  const over = share + next > 1 + 1e-9;
  place.replaceChildren(svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "chart bar", preserveAspectRatio: "none", role: "img", "aria-label": words },
    svg("rect", { x: 2, y: 4, width: W - 4, height: 26, rx: 6, class: "trough" }),
    svg("rect", { x: 2, y: 4, width: at(share), height: 26, rx: 6, class: "f0 fill-move" }),
    next > 0 ? svg("rect", { x: 2 + at(share), y: 8, width: Math.max(1, at(share + next) - at(share)), height: 18, class: over ? "f1" : "f4" }) : null),
  el("ul", { class: "legend" }, key("f0", "spent"), next > 0 ? key(over ? "f1" : "f4", over ? "this release: more than remains" : "this release") : null));
}

// Dark blue to yellow, monotone in lightness, so that grey print keeps the order.
const STOPS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];
export function shade(value) {
  const at = Math.min(0.99999, Math.max(0, value)) * (STOPS.length - 1), k = Math.floor(at), part = at - k;
  return STOPS[k].map((c, i) => Math.round(c + part * (STOPS[k + 1][i] - c)));
}
export const shadeText = (value) => `rgb(${shade(value).join(",")})`;
export const inkOn = (value) => { const [r, g, b] = shade(value); return 0.299 * r + 0.587 * g + 0.114 * b > 128 ? "#000" : "#fff"; };

export const ramp = (words) => el("div", { class: "ramp" }, "0",
  svg("svg", { viewBox: "0 0 120 12", preserveAspectRatio: "none", "aria-hidden": "true" }, ...Array.from({ length: 24 }, (_, i) => svg("rect", { x: 5 * i, y: 0, width: 5.3, height: 12, fill: shadeText(i / 23) }))), `1: ${words}`);

export function heatMap(place, { inputs, outputs, matrix }) {
  if (!matrix) { place.replaceChildren(el("p", { class: "note" }, `${inputs.length} × ${outputs.length}: too large to draw.`)); return; }
  const cell = (value) => {
    const made = el("td", {}, short(value));
    made.style.background = shadeText(value);
    made.style.color = inkOn(value);
    return made;
  };
  place.replaceChildren(el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "heat map" }, el("table", { class: "heat" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "input ↓ output →"), ...outputs.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...matrix.map((row, i) => el("tr", {}, el("th", { scope: "row" }, inputs[i]), ...row.map(cell)))))), ramp("probability"));
}
