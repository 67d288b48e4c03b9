// Python runs here, away from the page, so that the page stays quick. Everything is loaded from this site.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const here = new URL(import.meta.url);
const plain = here.searchParams.get("arithmetic") === "plain";
const own = (name) => new URL(name, here).href;

async function start() {
  const python = await loadPyodide({ indexURL: own("pyodide/") });
  const files = await (await fetch(own("files.json"))).json();
  const sources = await (await fetch(own(files.sources))).arrayBuffer();
  python.unpackArchive(sources, "zip", { extractDir: "/optimaldp" });
  python.runPython("import sys; sys.path.insert(0, '/optimaldp')");
  if (files.flint && !plain) {
    try {
      await python.loadPackage(own(files.flint), { checkIntegrity: false });
    } catch (problem) {
      console.warn(`python-flint was not loaded: ${problem}`); // plain Python computes instead
    }
  }
  return python.pyimport("examine");
}

const ready = start();

self.onmessage = async ({ data: { number, call, values } }) => {
  try {
    const examine = await ready;
    self.postMessage({ number, result: JSON.parse(examine[call](...values)) });
  } catch (problem) {
    self.postMessage({ number, problem: String(problem) });
  }
};
