// Loaded before the page is painted, so that a dark page does not flash white.
(() => {
  let stored = null;
  try { stored = localStorage.getItem("theme"); } catch { /* private window */ }
  document.documentElement.dataset.theme = stored ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
})();
