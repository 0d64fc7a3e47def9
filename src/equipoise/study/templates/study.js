"use strict";
/* The study in a browser. Answers are kept in this browser and handed out as a file. Texts are only ever set as text. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const ranking = data.ask === "rank";
  const SAID = [["yes", "Yes"], ["no", "No"], ["unsure", "Can’t tell"]];
  const ROWS = [
    ["Do both texts say the same?", "same", null],
    ["Is text 1 good English?", "grammatical", 0],
    ["Is text 2 good English?", "grammatical", 1],
    ["Is text 1 plausible?", "plausible", 0],
    ["Is text 2 plausible?", "plausible", 1],
  ];
  const questions = data.questions;
  let at = -1; // the question on the screen; questions.length: the end
  let groups = []; // a ranking as it grows: groups of places, best first
  let tie = false; // the next one joins the last group
  let said = []; // answers on a pair, row by row

  function make(name, words, className) {
    const made = document.createElement(name);
    if (words !== undefined) made.textContent = words;
    if (className) made.className = className;
    return made;
  }
  function tell(words, bad) {
    byId("told").textContent = words;
    byId("told").classList.toggle("bad", Boolean(bad));
  }
  const ordinal = (rank) => `${rank}${["th", "st", "nd", "rd"][rank < 4 ? rank : 0]}`;
  const placed = () => groups.flat();
  const whole = () => (ranking ? placed().length === questions[at].texts.length : said.length === ROWS.length);

  /* ---------------------------------------------------------------- answers */

  function value() {
    if (ranking) return questions[at].texts.map((_, place) => 1 + groups.findIndex((group) => group.includes(place)));
    const answer = { same: said[0], grammatical: [], plausible: [] };
    ROWS.forEach(([, name, place], row) => { if (place !== null) answer[name][place] = said[row]; });
    return answer;
  }
  function recall(answer) {
    groups = [];
    said = [];
    tie = false;
    if (!answer) return;
    if (ranking) {
      answer.forEach((rank, place) => { (groups[rank - 1] = groups[rank - 1] || []).push(place); });
    } else said = ROWS.map(([, name, place]) => (place === null ? answer[name] : answer[name][place]));
  }

  /* ---------------------------------------------------------------- steps */

  function choose(place) {
    const question = questions[at];
    if (!question || place >= question.texts.length) return;
    if (placed().includes(place)) {
      tell(`Caption ${place + 1} has its rank already; u takes the last step back.`);
      return;
    }
    if (tie && groups.length) groups[groups.length - 1].push(place);
    else groups.push([place]);
    tie = false;
    tell("");
    draw();
  }
  function toggleTie() {
    if (!questions[at] || !groups.length) return;
    if (whole()) { // all placed: the last group joins the one before
      if (groups.length > 1) groups.push([...groups.splice(-2).flat()]);
    } else tie = !tie;
    draw();
  }
  function say(word) {
    if (!questions[at] || said.length >= ROWS.length) return;
    said.push(word);
    tell("");
    draw();
  }
  function save() {
    if (!questions[at]) return;
    if (!whole()) {
      tell(ranking ? "Give every caption a rank first." : "Answer all five first.");
      return;
    }
    tell("");
    keep([[questions[at].question, value()]]);
    go(next());
  }
  function undo() {
    tell("");
    const before = groups.at(-1);
    if (questions[at] && ranking && tie) tie = false;
    else if (questions[at] && ranking && before) {
      before.pop();
      if (!before.length) groups.pop();
    } else if (questions[at] && !ranking && said.length) said.pop();
    else if (at > 0) {
      const answer = questions[at - 1].value;
      keep([[questions[at - 1].question, null]]);
      go(at - 1);
      recall(answer);
      if (answer) tell("Taken back. Change it, or save it again with Enter.");
    }
    draw();
  }
  function next() {
    for (let step = 0; step < questions.length; step += 1) {
      const index = (at + 1 + step) % questions.length;
      if (questions[index].value === null) return index;
    }
    return questions.length;
  }
  function go(index) {
    at = index;
    recall(null);
    if (at < questions.length) recall(questions[at].value);
    draw(true);
  }

  /* ---------------------------------------------------------------- drawing */

  function draw(anew) {
    const question = questions[at];
    const done = questions.filter((other) => other.value !== null).length;
    byId("start").hidden = true;
    byId("ask").hidden = !question;
    byId("end").hidden = Boolean(question);
    byId("keys").hidden = false;
    byId("bar").hidden = false;
    byId("bar").max = questions.length;
    byId("bar").value = done;
    byId("count").textContent = `${done} of ${questions.length}`;
    byId("who").textContent = data.annotator;
    byId("undo").disabled = !(at > 0 || (question && (groups.length || said.length)));
    byId("save").disabled = !question || !whole();
    byId("save").hidden = !question;
    if (ranking) byId("tie").hidden = !question;
    byId("download").classList.toggle("main", !question);
    if (!question) {
      byId("end-words").textContent =
        `All ${done} are answered. Download the answers and send the file to whoever asked you.`;
      return;
    }
    if (anew) {
      byId("texts").replaceChildren(...question.texts.map(text));
      if (ranking) byId("picture").src = data.pictures[question.image];
      scrollTo(0, 0);
    }
    (ranking ? drawRanks : drawRows)(question);
  }
  function text(words, place) {
    const line = make("li");
    const box = make(ranking ? "button" : "div", undefined, "text");
    const shown = make("span", words, "words");
    shown.dir = "auto";
    box.append(make("kbd", ranking ? String(place + 1) : `text ${place + 1}`), shown);
    if (ranking) {
      box.type = "button";
      box.append(make("span", "", "rank-of"));
      box.addEventListener("click", () => choose(place));
    }
    line.append(box);
    return line;
  }
  function drawRanks(question) {
    byId("texts").querySelectorAll(".text").forEach((box, place) => {
      const rank = 1 + groups.findIndex((group) => group.includes(place));
      box.classList.toggle("placed", rank > 0);
      box.querySelector(".rank-of").textContent = rank ? ordinal(rank) : "";
    });
    const shown = groups.map((group) => group.map((place) => place + 1).join(" = ")).join(" > ");
    const left = question.texts.length - placed().length;
    const order = byId("order");
    order.replaceChildren(groups.length ? "Your order: " : "Choose the best first.", make("b", shown));
    if (groups.length && left) order.append(tie ? " = …" : " > …");
    byId("tie").setAttribute("aria-pressed", String(tie));
    byId("tie").disabled = !groups.length || (left === 0 && groups.length < 2);
  }
  function drawRows() {
    byId("asked").replaceChildren(
      ...ROWS.map(([words], row) => {
        const line = make("div", undefined, row === said.length ? "row now" : "row");
        const buttons = make("div", undefined, "said");
        buttons.append(
          ...SAID.map(([word, label]) => {
            const button = make("button", label);
            button.type = "button";
            button.disabled = row > said.length;
            button.setAttribute("aria-pressed", String(said[row] === word));
            button.addEventListener("click", () => {
              if (row < said.length) said[row] = word;
              else if (row === said.length) said.push(word);
              draw();
            });
            return button;
          }),
        );
        line.append(make("p", words), buttons);
        return line;
      }),
    );
  }

  /* ---------------------------------------------------------------- keys */

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, textarea, select");
    if (at < 0 || typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const key = event.key.toLowerCase();
    const word = { 1: "yes", y: "yes", 2: "no", n: "no", 3: "unsure" }[key];
    let work = null;
    if (key === "enter") work = save;
    else if (key === "u" || key === "backspace") work = undo;
    else if (ranking && key === "t") work = () => toggleTie();
    else if (ranking && /^[1-9]$/.test(key)) work = () => choose(Number(key) - 1);
    else if (!ranking && word) work = () => say(word);
    if (!work) return;
    event.preventDefault();
    work();
  });
  byId("undo").addEventListener("click", undo);
  byId("save").addEventListener("click", save);
  if (ranking) byId("picture").addEventListener("load", (event) => { // 48 pixels are shown as 48 squares, not as fog
    event.target.classList.toggle("tiny", Math.max(event.target.naturalWidth, event.target.naturalHeight) < 200);
  });
  if (ranking) byId("tie").addEventListener("click", toggleTie);

  /* ---------------------------------------------------------------- keeping, and handing out */

  const kept = `equipoise-study/${data.study}/${data.annotator}`;
  const answers = () => questions.filter((one) => one.value !== null).map(({ question, value }) => ({ question, value }));

  function fits(question, value) {
    const texts = question.texts.length;
    if (ranking) {
      const ranks = Array.isArray(value) && value.length === texts ? new Set(value) : new Set();
      return ranks.size > 0 && [...ranks].every((rank) => Number.isInteger(rank) && rank >= 1 && rank <= ranks.size);
    }
    const lists = [[value?.same], value?.grammatical, value?.plausible];
    const words = SAID.map(([word]) => word);
    return lists.every((said, place) => Array.isArray(said) && said.length === (place ? texts : 1) && said.every((word) => words.includes(word)));
  }
  // The answers of a file or of the storage by question; null where one of them fits no question.
  function read(rows) {
    const known = new Map(questions.map((one) => [one.question, one]));
    const found = new Map();
    for (const row of Array.isArray(rows) ? rows : [null]) {
      const question = known.get(row?.question);
      if (!question || found.has(row.question) || !fits(question, row.value)) return null;
      found.set(row.question, row.value);
    }
    return found;
  }
  function stored() {
    try { return read(JSON.parse(localStorage.getItem(kept))) || new Map(); } catch { return new Map(); }
  }
  function fill(given) {
    questions.forEach((one) => { if (given.has(one.question)) one.value = given.get(one.question); });
  }
  // Another tab may have stored answers since, so they are read before each write.
  function keep(changes) {
    fill(new Map([...stored(), ...changes]));
    try {
      localStorage.setItem(kept, JSON.stringify(answers()));
    } catch {
      tell("This browser keeps nothing: download your answers before you close the page.", true);
    }
  }
  addEventListener("storage", (event) => {
    if (event.key !== kept || event.newValue === null) return; // cleared storage takes nothing from this tab
    const given = stored();
    questions.forEach((one) => { one.value = given.get(one.question) ?? null; });
    if (at === questions.length) begin();
    else if (at >= 0) draw();
  });
  function download() {
    const file = { format: "equipoise study answers", study: data.study, annotator: data.annotator, page: data.page, answers: answers() };
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(file, null, 1)], { type: "application/json" }));
    link.download = `answers-${data.annotator.replace(/[^\p{L}\p{N}]+/gu, "-")}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    byId("download").blur();
  }
  async function load(event) {
    const [chosen] = event.target.files;
    event.target.value = "";
    if (!chosen) return;
    let found = null;
    try { found = JSON.parse(await chosen.text()); } catch { /* said below */ }
    if (!found || found.study !== data.study || found.annotator !== data.annotator || (found.page ?? data.page) !== data.page) {
      tell("This file does not hold your answers to this study.", true);
      return;
    }
    const given = read(found.answers);
    if (!given) {
      tell("This file is damaged: some of its answers do not fit the questions. Nothing was changed.", true);
      return;
    }
    const here = new Map(answers().map(({ question, value }) => [question, value]));
    const fresh = [...given].filter(([question]) => !here.has(question));
    const other = [...given].filter(([question, value]) => here.has(question) && JSON.stringify(here.get(question)) !== JSON.stringify(value));
    const taken = other.length > 0 && confirm(`${other.length} answers in this file differ from those on this page. Replace those on this page?`);
    keep(taken ? [...fresh, ...other] : fresh);
    begin();
    tell(`${fresh.length} answers were added, ${taken ? other.length : 0} replaced.`);
    event.target.blur();
  }
  function begin() {
    at = questions.length - 1;
    go(next());
  }
  byId("download").addEventListener("click", download);
  byId("load").addEventListener("change", load);
  byId("begin").addEventListener("click", begin);
  questions.forEach((one) => { one.value = null; });
  fill(stored());
  byId("start").hidden = false;
})();
