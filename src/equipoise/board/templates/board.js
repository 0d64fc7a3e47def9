"use strict";
/* A leaderboard: columns sort, rows are found by name and kind, long tables open on demand. Nothing is fetched. */
(() => {
  const byId = (id) => document.getElementById(id);
  const tables = [...document.querySelectorAll("table.board")];
  const opened = new Set();

  const rows = (table) => [...table.tBodies[0].rows];
  const nameOf = (row) => row.cells[0].textContent.toLowerCase();

  /* What a cell is sorted by: its number, else its words; null where it has neither. */
  function key(row, column) {
    const cell = row.cells[column];
    const value = cell.getAttribute("data-value");
    if (value !== null) return Number(value);
    const words = (column === 0 ? cell.firstChild : cell).textContent.trim(); // of a model its name alone
    return column > 0 && ["–", "-", ""].includes(words) ? null : words;
  }

  function sort(table, column, way) {
    const sign = way === "ascending" ? 1 : -1;
    const keyed = rows(table).map((row) => [key(row, column), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // what is missing is last, either way
      return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
    });
    table.tBodies[0].append(...keyed.map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((cell, place) => {
      if (place === column) cell.setAttribute("aria-sort", way);
      else cell.removeAttribute("aria-sort");
    });
    show();
  }

  /* Rows that fit the filters; of a long table the first ones, until it is opened. */
  function show() {
    const wanted = byId("f-name").value.trim().toLowerCase();
    const kind = byId("f-kind") ? byId("f-kind").value : "";
    let measured = 0;
    let reported = 0;
    tables.forEach((table) => {
      const most = opened.has(table) || !table.dataset.many ? Infinity : Number(table.dataset.many);
      let fitting = 0;
      rows(table).forEach((row) => {
        const fits = nameOf(row).includes(wanted) && (!kind || row.dataset.kind === kind);
        if (fits) {
          fitting += 1;
          if (row.dataset.kind === "measured") measured += 1;
          else reported += 1;
        }
        row.hidden = !fits || fitting > most;
      });
      const more = table.closest("section").querySelector(".more");
      if (more && table.dataset.many) {
        more.hidden = fitting <= most;
        more.firstElementChild.textContent = `Show all ${fitting.toLocaleString("en")} rows`;
      }
    });
    const n = (value, words) => `${value.toLocaleString("en")} ${words}`;
    byId("count").textContent = wanted || kind ? `${n(measured, "measured")} and ${n(reported, "reported")} rows fit.` : "";
  }

  tables.forEach((table) => {
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      const button = cell.querySelector("button.sort");
      if (!button) return;
      button.addEventListener("click", () => {
        const now = cell.getAttribute("aria-sort");
        const first = button.dataset.first || (column === 0 ? "ascending" : "descending");
        const other = first === "ascending" ? "descending" : "ascending";
        sort(table, column, now === first ? other : first);
      });
    });
  });
  document.querySelectorAll(".more").forEach((more) => {
    more.firstElementChild.addEventListener("click", () => {
      opened.add(more.closest("section").querySelector("table[data-many]"));
      show();
    });
  });
  window.addEventListener("beforeprint", () => {
    tables.forEach((table) => opened.add(table));
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
    show();
  });
  byId("filters").hidden = false;
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("f-name").addEventListener("input", show);
  if (byId("f-kind")) byId("f-kind").addEventListener("change", show);
  show();
})();
