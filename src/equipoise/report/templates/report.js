"use strict";
/* The gallery: filters, pages, one item at a time. Everything is drawn when it is asked for, as text and never as HTML. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const PER_PAGE = 12;
  const byId = (id) => document.getElementById(id);
  const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const chapters = data.chapters.map((chapter) => ({
    ...chapter,
    codes: chapter.codes.map(bytes),
    tags: chapter.tags.map((tag) => ({ ...tag, codes: bytes(tag.codes) })),
  }));
  const outcomes = Object.entries(data.outcomes);
  const right = new Set(data.outcomes.right.codes);
  const state = { change: "", chapter: 0, run: 0, outcome: "any", code: -1, other: -1, tag: -1, value: -1, page: 0 };
  const none = data.classes.length - 1; // not compared
  const drawn = new Map(); // items that `equipoise view` sent, by chapter and number

  function make(name, words, className) {
    const made = document.createElement(name);
    if (words !== undefined) made.textContent = words;
    if (className) made.className = className;
    return made;
  }

  /* What changed from the first of two models to the second, by the groups of an item's two classes. */
  const CHANGES = {
    worse: ["Got worse", (was, now) => was === "right" && now !== "right"],
    brittle: ["Became brittle", (was, now) => was !== "brittle" && now === "brittle"],
    fixed: ["Fixed", (was, now) => was !== "right" && now === "right"],
  };

  function changed(chapter, key) {
    const [was, now] = chapter.codes.map((codes) => (i) => data.classes[codes[i]].group);
    return (i) => was(i) !== "none" && now(i) !== "none" && CHANGES[key][1](was(i), now(i));
  }

  function changeButtons(chapter) {
    byId("changes").hidden = chapter.runs.length !== 2;
    if (chapter.runs.length !== 2) return;
    const made = Object.entries(CHANGES).map(([key, [words]]) => {
      const fit = changed(chapter, key);
      let total = 0;
      for (let i = 0; i < chapter.n; i += 1) total += fit(i);
      const button = make("button", `${words}: ${total.toLocaleString("en")}`);
      button.type = "button";
      button.setAttribute("aria-pressed", state.change === key);
      button.addEventListener("click", () => change({ ...restart, change: state.change === key ? "" : key }));
      return button;
    });
    byId("changes").replaceChildren(`From ${chapter.runs[0]} to ${chapter.runs[1]}: `, ...made);
  }

  /* Whether an item fits what is asked for. */
  function fits(chapter) {
    if (state.change) return changed(chapter, state.change);
    const codes = new Set(state.code >= 0 ? [state.code] : data.outcomes[state.outcome].codes);
    const own = chapter.codes[state.run];
    const other = state.other >= 0 ? chapter.codes[state.other] : null;
    const tag = state.tag >= 0 ? chapter.tags[state.tag].codes : null;
    return (i) =>
      codes.has(own[i]) &&
      (!other || (!right.has(other[i]) && other[i] !== none)) &&
      (!tag || tag[i] === state.value);
  }

  function fill(select, options, chosen) {
    select.replaceChildren(
      ...options.map(([value, words]) => {
        const option = make("option", words);
        option.value = value;
        option.selected = String(value) === String(chosen);
        return option;
      }),
    );
  }

  function filters() {
    const chapter = chapters[state.chapter];
    const runs = chapter.runs.map((label, index) => [index, label]);
    fill(byId("f-chapter"), chapters.map((one, index) => [index, one.title]), state.chapter);
    fill(byId("f-run"), runs, state.run);
    const words = outcomes.map(([key, one]) => [key, one.words]);
    if (state.code >= 0) words.push(["code", data.classes[state.code].name]);
    fill(byId("f-outcome"), words, state.code >= 0 ? "code" : state.outcome);
    fill(byId("f-other"), [[-1, "–"], ...runs.filter(([index]) => index !== state.run)], state.other);
    const tags = chapter.tags.flatMap((tag, t) => tag.values.map((value, v) => [`${t}/${v}`, `${tag.name}: ${value}`]));
    fill(byId("f-tag"), [["-1/-1", "any"], ...tags], `${state.tag}/${state.value}`);
    byId("f-chapter").parentNode.hidden = chapters.length < 2;
    byId("f-other").parentNode.hidden = chapter.runs.length < 2;
    byId("f-tag").parentNode.hidden = !tags.length;
  }

  function show() {
    const chapter = chapters[state.chapter];
    const fit = fits(chapter);
    let total = 0;
    for (let i = 0; i < chapter.n; i += 1) total += fit(i);
    let found;
    if (data.items) {
      found = [];
      for (let i = 0; i < chapter.n; i += 1) if (fit(i)) found.push(i);
    } else {
      found = chapter.items.filter((item) => fit(item.i));
      found.sort((a, b) => (a.picture === undefined) - (b.picture === undefined)); // stable: those with pictures first
    }
    const pages = Math.max(1, Math.ceil(found.length / PER_PAGE));
    state.page = Math.min(state.page, pages - 1);
    const from = state.page * PER_PAGE;
    filters();
    changeButtons(chapter);
    const here = found.slice(from, from + PER_PAGE);
    const draw = (items) => byId("cards").replaceChildren(...items.map((item) => card(chapter, item)));
    if (data.items) ask(state.chapter, here).then((items) => items && draw(items));
    else draw(here);
    const n = (value) => value.toLocaleString("en");
    byId("count").textContent = total
      ? data.items ? `${n(total)} of ${n(chapter.n)} items fit.` :
        `${n(total)} of ${n(chapter.n)} items fit. ${n(found.length)} of ${n(total)} shown, drawn at random` +
        (found.length < total ? "; the others are in the run folder (items.jsonl)." : ".")
      : "No item fits.";
    byId("where").textContent = `page ${state.page + 1} of ${pages}`;
    byId("back").disabled = state.page === 0;
    byId("next").disabled = state.page >= pages - 1;
    document.querySelector(".pager").hidden = pages < 2;
  }

  /* Items of one page from the server of `equipoise view`; nothing if another page was asked for meanwhile. */
  let asked = 0;
  async function ask(chapter, numbers) {
    asked += 1;
    const mine = asked;
    const missing = numbers.filter((i) => !drawn.has(`${chapter}/${i}`));
    if (missing.length) {
      const answer = await fetch(`${data.items}&chapter=${chapter}&i=${missing.join(",")}`).catch(() => ({ ok: false }));
      if (!answer.ok) byId("count").textContent = "The server of equipoise view does not answer; start it again.";
      else (await answer.json()).forEach((item) => drawn.set(`${chapter}/${item.i}`, item));
    }
    return mine === asked ? numbers.map((i) => drawn.get(`${chapter}/${i}`)).filter(Boolean) : null;
  }

  function texts(item) {
    const [caption, positives, negatives] = item.texts || ["(text not recorded)", [], []];
    const lines = [["c", caption], ...positives.map((text) => ["p", text]), ...negatives.map((text) => ["n", text])];
    return lines.map(([sign, text]) => {
      const line = make("p");
      line.append(make("b", sign, sign), text);
      return line;
    });
  }

  const number = (value) => (value === undefined ? "–" : Math.abs(value) < 1000 ? value.toFixed(3) : value.toPrecision(3));

  /* Scores of an item by every model; of several positives or negatives the ones that decide. */
  function scores(chapter, item, whole) {
    const table = make("table");
    const head = make("tr");
    head.append(...["", "c", "p", "n", ""].map((word) => make("th", word)));
    table.append(make("thead"), make("tbody"));
    table.tHead.append(head);
    chapter.runs.forEach((label, run) => {
      const line = make("tr");
      line.append(make("th", label));
      const given = item.scores[run];
      if (given) {
        const [c, ps, ns] = given;
        const n = ns.length ? Math.max(...ns) : undefined;
        const p = ps.length ? (c > n ? Math.min(...ps) : Math.max(...ps)) : undefined;
        line.append(...[c, p, n].map((value) => make("td", whole && value !== undefined ? value : number(value))));
      } else line.append(make("td", "–"), make("td", "–"), make("td", "–"));
      const kind = data.classes[chapter.codes[run][item.i]];
      const words = kind.group === "none" ? "–" : whole ? kind.name : kind.group;
      const verdict = make("td", words, `g g-${kind.group}`);
      verdict.title = kind.name;
      line.append(verdict);
      table.tBodies[0].append(line);
    });
    return table;
  }

  /* A picture, with the box that the model was shown, if it was not shown the whole. */
  function picture(entry, words) {
    if (entry.picture === undefined) return null;
    const image = make("img");
    image.src = data.items ? entry.picture : `data:image/jpeg;base64,${data.pictures[entry.picture]}`;
    image.alt = words;
    const made = make("span", undefined, "pic");
    made.append(image);
    if (entry.box) {
      const box = make("span", undefined, "box");
      box.title = "the model was shown this part";
      ["left", "top", "width", "height"].forEach((side, place) => { box.style[side] = `${entry.box[place]}%`; });
      made.append(box);
    }
    return made;
  }

  const captionOf = (item) => (item.texts ? item.texts[0] : item.id);
  const kindOf = (other) => (other.right ? "also right" : "wrong picture");

  /* The item's own picture and its others, each with a word on what it is. */
  function pictures(item, most) {
    const own = picture(item, captionOf(item));
    const others = (item.others || []).slice(0, most).map((other) => [other, picture(other, kindOf(other))]);
    if (!others.some(([, shown]) => shown)) return own;
    const made = make("span", undefined, "pics");
    const named = (shown, words, className) => {
      const one = make("span", undefined, `named ${className}`);
      one.append(shown, make("small", words));
      made.append(one);
    };
    if (own) named(own, "its picture", "right");
    others.forEach(([other, shown]) => shown && named(shown, kindOf(other), other.right ? "right" : "wrong"));
    return made;
  }

  function card(chapter, item) {
    const made = make("article", undefined, "card");
    const button = make("button");
    button.type = "button";
    button.append(pictures(item, 1) || "no picture in this page");
    button.addEventListener("click", () => open(chapter, item));
    const text = make("div", undefined, "text");
    text.append(...texts(item), scores(chapter, item));
    made.append(button, text);
    return made;
  }

  /* What each model gives the caption with each of the pictures. */
  function otherScores(chapter, item) {
    const table = make("table");
    const head = make("tr");
    const others = item.others || [];
    head.append(...["s(c) with", "its picture", ...others.map(kindOf)].map((word) => make("th", word)));
    table.append(make("thead"), make("tbody"));
    table.tHead.append(head);
    chapter.runs.forEach((label, run) => {
      const line = make("tr");
      const own = item.scores[run] ? item.scores[run][0] : undefined;
      const given = others.map((other) => (other.scores[run] === null ? undefined : other.scores[run]));
      line.append(make("th", label), ...[own, ...given].map((value) => make("td", number(value))));
      table.tBodies[0].append(line);
    });
    return table;
  }

  function open(chapter, item) {
    const dialog = byId("item");
    const close = make("button", "Close", "close");
    close.addEventListener("click", () => dialog.close());
    const facts = make("dl", undefined, "facts");
    const given = chapter.tags.filter((tag) => tag.codes[item.i] < tag.values.length);
    const lines = [["item", item.id], ["picture", item.path || "–"]];
    lines.push(...(item.others || []).map((other) => [kindOf(other), other.path || "–"]));
    lines.push(...given.map((tag) => [tag.name, tag.values[tag.codes[item.i]]]));
    lines.forEach(([name, value]) => facts.append(make("dt", name), make("dd", value)));
    const image = pictures(item, Infinity);
    const table = make("div", undefined, "scroll");
    table.append(scores(chapter, item, true));
    if (item.others) table.append(otherScores(chapter, item));
    dialog.replaceChildren(close, ...(image ? [image] : []), ...texts(item), table, facts);
    dialog.showModal();
  }

  function change(values) {
    Object.assign(state, { page: 0, change: "" }, values);
    show();
  }

  const restart = { run: 0, outcome: "any", code: -1, other: -1, tag: -1, value: -1 };
  byId("f-chapter").addEventListener("change", (event) => change({ ...restart, chapter: Number(event.target.value) }));
  byId("f-run").addEventListener("change", (event) => {
    const run = Number(event.target.value);
    change({ run, other: state.other === run ? -1 : state.other });
  });
  byId("f-outcome").addEventListener("change", (event) => {
    if (event.target.value !== "code") change({ outcome: event.target.value, code: -1 });
  });
  byId("f-other").addEventListener("change", (event) => change({ other: Number(event.target.value) }));
  byId("f-tag").addEventListener("change", (event) => {
    const [tag, value] = event.target.value.split("/").map(Number);
    change({ tag, value });
  });
  byId("back").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  function turn(step) {
    state.page += step;
    show();
    byId("gallery").scrollIntoView();
  }
  byId("item").addEventListener("click", (event) => event.target === byId("item") && byId("item").close());

  /* A number was clicked: its items. The link itself goes to the gallery. */
  document.addEventListener("click", (event) => {
    const to = event.target.closest("a.to");
    if (!to) return;
    const asked = {};
    for (const name of ["chapter", "run", "code", "tag", "value"]) {
      const given = to.getAttribute(`data-${name}`);
      if (given !== null) asked[name] = Number(given);
    }
    const outcome = to.getAttribute("data-outcome") || "any";
    if (outcome !== "any") delete asked.code;
    change({ ...restart, ...asked, outcome, change: to.getAttribute("data-change") || "" });
  });

  /* Paper shows what a screen folds away. */
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((one) => { one.open = true; });
  });
  window.addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));

  byId("filters").hidden = false;
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  const brittle = new Set(data.outcomes.brittle.codes);
  change(chapters[0].codes[0].some((code) => brittle.has(code)) ? { outcome: "brittle" } : {});
})();
