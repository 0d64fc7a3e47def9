"use strict";
/* Filters of the table, and the items behind a number. Texts are only ever set as text. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const make = (name, words) => Object.assign(document.createElement(name), { textContent: words });

  function filter() {
    const bench = byId("f-bench").value;
    const family = byId("f-family").value;
    let shown = 0;
    document.querySelectorAll("#table tbody").forEach((body) => {
      const rows = [...body.querySelectorAll("tr[data-family]")];
      let here = 0;
      rows.forEach((row) => {
        const asked = bench === "*two" ? Boolean(row.dataset.two) : !bench || bench === body.dataset.bench;
        const wanted = asked && (!family || family === row.dataset.family);
        row.hidden = !wanted || (!bench && here === 5);
        here += row.hidden ? 0 : 1;
      });
      body.hidden = here === 0;
      body.querySelector(".rest").textContent = here < rows.length ? `${rows.length - here} more are hidden by the filters.` : "";
      shown += here;
    });
    const none = shown ? "" : ": no model of this family in this choice of benchmarks";
    byId("count").textContent = `${shown} of ${data.rows.length} results${none}`;
  }

  function show(row, metric) {
    const [lost, asked, items] = row[metric];
    const [count, n] = [lost, asked].map((one) => one.toLocaleString("en"));
    const what = {
      right: `${row.model} is wrong on ${count} of ${n} items`,
      again: `${row.model} is wrong on the changed version of ${count} of ${n} items`,
      both: `${row.model} is not right in both on ${count} of ${n} items`,
      flips: `${row.model} changes its answer on ${count} of ${n} items`,
    }[metric];
    const close = make("button", "Close");
    close.className = "close";
    close.addEventListener("click", () => byId("item").close());
    const rule = make("p", `${row.bench}. Right: ${row.rule}.${metric === "right" || !row.second ? "" : ` Changed: ${row.second}.`}`);
    const list = make("ol", "");
    list.append(...items.map((item) => make("li", [data.texts[row.bench][item], row.said[item] ?? ""].join("\n"))));
    const [url, words] = data.sources[row.source];
    const link = Object.assign(make("a", words), { href: url, rel: "noreferrer" });
    const source = make("p", "Source: ");
    source.className = "source";
    source.append(link);
    const few = items.length < lost ? `${items.length} of them, a fixed random sample:` : "";
    byId("item").replaceChildren(close, make("h3", what), rule, make("p", few), list, source);
    byId("item").showModal();
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.to");
    if (button) show(data.rows[button.dataset.row], button.dataset.metric);
  });
  byId("f-bench").addEventListener("change", () => {
    byId("f-family").value = "";
    filter();
  });
  byId("f-family").addEventListener("change", filter);
  byId("filters").hidden = false;
  filter();
})();
