// The OpenAPI document, read and shown by our own few lines: nothing is fetched from anywhere else.
import { ApiError, byId, call, el } from "/static/studio.js";

const json = (operation) => operation.requestBody?.content["application/json"];
const example = (operation) => json(operation)?.example ?? null;
const fields = (operation) => json(operation)?.schema ?? { properties: {}, required: [] };

function show(path, method, operation) {
  const name = path.split("/").pop(), input = el("textarea", { id: `body-${name}`, "aria-label": `body of ${name}`, spellcheck: "false" });
  const output = el("pre", { hidden: true, tabindex: 0 }), status = el("div", { class: "status" });
  input.value = JSON.stringify(example(operation), null, 1);
  const schema = fields(operation);
  const rows = Object.entries(schema.properties).map(([field, what]) => el("tr", {}, el("td", {}, el("code", {}, field)),
    el("td", {}, schema.required.includes(field) ? "required" : ""), el("td", {}, what.description ?? what.enum?.join(", ") ?? [what.type ?? ""].flat().join(" or "))));
  const send = async () => {
    try {
      output.textContent = JSON.stringify(await call(name, method === "get" ? null : input.value, { status }), null, 1).slice(0, 20000);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      output.textContent = `${error.status} ${error.kind}: ${error.message}`;
    }
    output.hidden = false;
  };
  return el("section", { class: "card", id: name }, el("h2", {}, `${method.toUpperCase()} ${path}`), el("p", {}, operation.summary),
    el("p", { class: "note" }, `Answer: ${operation.responses["200"].description}`),
    rows.length ? el("details", {}, el("summary", {}, "Fields"), el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, ...rows)))) : null,
    ["release", "release_plan", "sanitise", "upload", "open", "proposal"].includes(name) ? null : el("details", {}, el("summary", {}, "Try it"), method === "get" ? null : input, el("div", { class: "tools" }, el("button", { type: "button", onclick: send }, "Send")), status, output));
}

const document_ = await (await fetch("/openapi.json")).json();
byId("calls").replaceChildren(...Object.entries(document_.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => show(path, method, operation))));
