"use strict";
/* Verdicts on the items of a label court. They are kept in this browser and handed out as a diff against the benchmark. */
(() => {
  const { cases, ...about } = JSON.parse(document.getElementById("data").textContent);
  const cards = [...document.querySelectorAll("[data-case]")];
  const kept = `equipoise-court/${about.items_sha256}`;
  const fields = (card) => [card.querySelector("select"), card.querySelector("input")];

  function judged() {
    return cards.map((card, place) => {
      const [verdict, why] = fields(card).map((field) => field.value.trim());
      const { id, image, caption, negatives } = cases[place];
      const after = { swap: { caption: negatives[0], negatives: [caption] }, right: { caption, negatives } }[verdict];
      return { id, image, verdict, why, before: { caption, negatives }, after: after || null };
    }).filter((one) => one.verdict);
  }
  function draw() {
    const found = judged();
    const file = { ...about, verdicts: found.length, changes: found.filter((one) => one.verdict !== "right"), right: found.filter((one) => one.verdict === "right").map((one) => one.id) };
    document.getElementById("count").textContent = `${found.length} of ${cards.length} judged, ${file.changes.length} to change`;
    document.getElementById("save").href = `data:application/json;charset=utf-8,${encodeURIComponent(`${JSON.stringify(file, null, 1)}\n`)}`;
  }
  function stored() {
    try { return JSON.parse(localStorage.getItem(kept)) || {}; } catch { return {}; }
  }
  function fill() {
    const before = stored();
    cards.forEach((card, place) => fields(card).forEach((field, which) => { field.value = (before[cases[place].id] || ["", ""])[which]; }));
    draw();
  }
  // Other courts of these items keep their verdicts in the same place, so only this card's entry is changed.
  function keep(card, id) {
    draw();
    const said = fields(card).map((field) => field.value.trim());
    const { [id]: _, ...others } = stored();
    try {
      localStorage.setItem(kept, JSON.stringify(said.some(Boolean) ? { ...others, [id]: said } : others));
    } catch { /* a browser that keeps nothing still downloads */ }
  }
  cards.forEach((card, place) => card.addEventListener("input", () => keep(card, cases[place].id)));
  addEventListener("storage", (event) => { if (event.key === kept) fill(); });
  fill();
})();
