"use strict";
/* The list of runs. It asks for changes every other second and draws only what changed, as text and never as HTML. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const drawn = new Map(); // at -> { text, element }
  let ticked = [];
  let known = data.version;
  let rows = data.rows;

  function make(name, words, className) {
    const made = document.createElement(name);
    if (words !== undefined) made.textContent = words;
    if (className) made.className = className;
    return made;
  }

  const numbers = new Intl.NumberFormat("en"); // made once: 500 rows would make a thousand
  const moments = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
  const n = (value) => numbers.format(value);
  const moment = (seconds) => moments.format(new Date(seconds * 1000));
  const GROUPS = [
    ["Running", (row) => row.state === "running"],
    ["Did not finish", (row) => row.state !== "running" && row.state !== "finished"],
    ["Finished", (row) => row.state === "finished"],
  ];

  function lasting(seconds) {
    if (seconds < 90) return `${Math.ceil(seconds)} s`;
    return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
  }

  function bar(one) {
    const made = make("div");
    if (one.total) {
      const line = make("progress");
      line.max = one.total;
      line.value = one.done;
      made.append(line);
    }
    const left = one.rate > 0 && one.total > one.done ? `, ${lasting((one.total - one.done) / one.rate)} left` : "";
    const rate = one.rate >= 10 ? n(Math.round(one.rate)) : one.rate.toFixed(1);
    const whole = one.total ? ` of ${n(one.total)}` : "";
    made.append(make("small", `${one.what}: ${n(one.done)}${whole} ${one.unit}, ${rate} ${one.unit}/s${left}`));
    return made;
  }

  function line(row) {
    const made = make("tr");
    made.dataset.at = row.at;
    const head = make("th");
    head.scope = "row";
    const page = { run: "/run?run=", training: "/training?at=" }[row.kind];
    if (page && !data.frozen && row.state !== "unreadable") {
      if (row.kind === "run") head.append(tick(row));
      const link = make("a", row.name);
      link.href = page + encodeURIComponent(row.at);
      head.append(link);
    } else head.append(row.name);
    head.append(make("small", [row.what, row.bench, row.n ? `${n(row.n)} items` : ""].filter(Boolean).join(" · ")));
    const state = make("td");
    state.append(make("b", row.state, `s-${row.state}`), row.kind === "training" ? ` training, step ${n(row.step || 0)}` : "");
    if (row.state !== "finished") (row.bars || []).forEach((one) => state.append(bar(one)));
    if (row.error) state.append(make("div", row.error, "error"));
    if (row.when) state.append(make("small", row.state === "running" && row.began ? `since ${moment(row.began)}` : moment(row.when)));
    const numbers = make("td");
    (row.numbers || []).forEach(([name, value]) => numbers.append(make("div", `${name} ${value}`)));
    made.append(head, state, numbers);
    return made;
  }

  function tick(row) {
    const box = make("input");
    box.type = "checkbox";
    box.checked = ticked.includes(row.at);
    box.setAttribute("aria-label", `compare ${row.name}`);
    box.addEventListener("change", () => {
      ticked = ticked.filter((at) => at !== row.at);
      if (box.checked) ticked.push(row.at);
      ticked.slice(0, -2).forEach((at) => { // the last two stay
        const other = document.querySelector(`tr[data-at="${CSS.escape(at)}"] input`);
        if (other) other.checked = false;
      });
      ticked = ticked.slice(-2);
      choose();
    });
    return box;
  }

  function choose() {
    const bar = byId("chosen");
    const names = ticked.map((at) => (rows.find((row) => row.at === at) || { name: at }).name);
    bar.hidden = !ticked.length;
    if (ticked.length < 2) return bar.replaceChildren(`${names[0] || ""}: tick a second run to compare it.`);
    const link = make("a", `Compare ${names[1]} with ${names[0]}`);
    link.href = `/run?run=${encodeURIComponent(ticked[0])}&run=${encodeURIComponent(ticked[1])}`;
    return bar.replaceChildren(link);
  }

  /* The element of a row: the one that is there if nothing in it changed. */
  function element(row) {
    const text = JSON.stringify(row);
    const before = drawn.get(row.at);
    if (before && before.text === text) return before.element;
    const made = line(row);
    drawn.set(row.at, { text, element: made });
    return made;
  }

  function draw() {
    const sections = GROUPS.map(([title, fits]) => [title, rows.filter(fits)]).filter(([, found]) => found.length);
    const place = byId("runs");
    const there = [...place.children].map((section) => section.dataset.title);
    if (there.join() !== sections.map(([title]) => title).join()) {
      place.replaceChildren(...sections.map(([title]) => {
        const section = make("section");
        section.dataset.title = title;
        const table = make("table", undefined, "stack");
        table.append(make("tbody"));
        section.append(make("h2", title), table);
        return section;
      }));
    }
    sections.forEach(([title, found], index) => {
      const section = place.children[index];
      section.firstChild.replaceChildren(`${title} `, make("small", n(found.length)));
      const body = section.querySelector("tbody");
      const wanted = found.map(element);
      wanted.forEach((one, i) => { // what stays where it is keeps the focus
        if (body.children[i] !== one) body.insertBefore(one, body.children[i] || null);
      });
      while (body.children.length > wanted.length) body.lastChild.remove();
    });
    if (!rows.length) place.replaceChildren(make("p", "No run in this folder yet. It will appear here."));
  }

  const say = (words) => { byId("said").textContent = words; };

  async function look() {
    try {
      if (!document.hidden) {
        const answer = await fetch(`/rows?have=${known}`);
        if (!answer.ok) throw new Error(answer.status);
        const found = await answer.json();
        known = found.version;
        if (found.rows) {
          rows = found.rows;
          draw();
        }
        say("Follows the folder as it changes. Tick two runs to compare them.");
      }
    } catch {
      say("equipoise view has ended; this is what it showed last.");
    }
    setTimeout(look, 2000);
  }

  draw();
  if (data.frozen) say(`As it was on ${moment(data.made)}.`);
  else look();
})();
