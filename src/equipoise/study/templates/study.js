"use strict";
/* The study in a browser. With a server every answer is sent and waited for; without one all is kept here and handed
   out as a file. Texts are only ever set as text. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const served = data.questions === undefined;
  const ranking = data.ask === "rank";
  const SAID = [["yes", "Yes"], ["no", "No"], ["unsure", "Can’t tell"]];
  const ROWS = [
    ["Do both texts say the same?", "same", null],
    ["Is text 1 good English?", "grammatical", 0],
    ["Is text 2 good English?", "grammatical", 1],
    ["Is text 1 plausible?", "plausible", 0],
    ["Is text 2 plausible?", "plausible", 1],
  ];
  let annotator = data.annotator || "";
  let questions = [];
  let at = -1; // the question on the screen; questions.length: the end
  let groups = []; // a ranking as it grows: groups of places, best first
  let tie = false; // the next one joins the last group
  let said = []; // answers on a pair, row by row
  let busy = false;
  let rows = []; // without a server: every answer and withdrawal, oldest first

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

  const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

  /* Keep an answer (null: withdraw it). The same revision is sent until the server says that it has it. */
  async function keep(question, answer) {
    const row = { question: question.question, revision: question.revision + 1, value: answer };
    if (!served) {
      rows.push({ ...row, at: new Date().toISOString() });
      remember();
    } else {
      for (let wait = 1; ; wait = Math.min(10, 2 * wait)) {
        let reply = null;
        try {
          reply = await fetch("/api/answer", {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ annotator, ...row }),
          });
        } catch { /* no server: once more */ }
        if (reply && reply.ok) break;
        if (reply && reply.status === 409) {
          await load();
          tell("This was answered in another window; here is what is saved now.", true);
          return false;
        }
        if (reply && reply.status < 500) {
          const why = await reply.json().catch(() => ({}));
          tell(`Not saved: ${why.error || reply.status}.`, true);
          return false;
        }
        tell("Not saved yet: the server does not answer. Your answer is kept here and sent again …", true);
        await pause(wait);
      }
    }
    question.revision = row.revision;
    question.value = answer;
    return true;
  }

  async function one(work) {
    if (busy) return;
    busy = true;
    try { await work(); } finally { busy = false; }
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
  async function save() {
    if (!questions[at]) return;
    if (!whole()) {
      tell(ranking ? "Give every caption a rank first." : "Answer all five first.");
      return;
    }
    tell("");
    if (await keep(questions[at], value())) go(next());
  }
  async function undo() {
    tell("");
    const before = groups.at(-1);
    if (questions[at] && ranking && tie) tie = false;
    else if (questions[at] && ranking && before) {
      before.pop();
      if (!before.length) groups.pop();
    } else if (questions[at] && !ranking && said.length) said.pop();
    else if (at > 0) {
      const back = questions[at - 1];
      const answer = back.value;
      if (answer && !(await keep(back, null))) return;
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

  const address = (number) => (served ? `/image/${number}` : data.pictures[number]);

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
    byId("who").textContent = annotator;
    byId("undo").disabled = !(at > 0 || (question && (groups.length || said.length)));
    byId("save").disabled = !question || !whole();
    byId("save").hidden = !question;
    if (ranking) byId("tie").hidden = !question;
    byId("files").hidden = served;
    if (!question) {
      byId("end-words").textContent = served
        ? `All ${done} answers are saved. You can close this page.`
        : `All ${done} are answered. Download the answers and send the file to whoever asked you.`;
      byId("download").classList.toggle("main", !served);
      return;
    }
    byId("download").classList.remove("main");
    if (anew) {
      byId("texts").replaceChildren(...question.texts.map(text));
      if (ranking) byId("picture").src = address(question.image);
      const following = questions[at + 1];
      if (served && ranking && following) new Image().src = address(following.image);
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
      box.addEventListener("click", () => one(async () => choose(place)));
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
            button.addEventListener("click", () => one(async () => {
              if (row < said.length) said[row] = word;
              else if (row === said.length) said.push(word);
              draw();
            }));
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
    else if (ranking && key === "t") work = async () => toggleTie();
    else if (ranking && /^[1-9]$/.test(key)) work = async () => choose(Number(key) - 1);
    else if (!ranking && word) work = async () => say(word);
    if (!work) return;
    event.preventDefault();
    one(work);
  });
  byId("undo").addEventListener("click", () => one(undo));
  byId("save").addEventListener("click", () => one(save));
  if (ranking) byId("picture").addEventListener("load", (event) => { // 48 pixels are shown as 48 squares, not as fog
    event.target.classList.toggle("tiny", Math.max(event.target.naturalWidth, event.target.naturalHeight) < 200);
  });
  if (ranking) byId("tie").addEventListener("click", () => one(async () => toggleTie()));

  /* ---------------------------------------------------------------- with a server */

  async function load() {
    const reply = await fetch(`/api/state?annotator=${encodeURIComponent(annotator)}`);
    const found = await reply.json();
    if (!reply.ok) throw new Error(found.error || String(reply.status));
    annotator = found.annotator;
    questions = found.questions;
    history.replaceState(null, "", `#${encodeURIComponent(annotator)}`);
    at = questions.length - 1;
    go(next());
  }
  async function begin() {
    try {
      await load();
    } catch (error) {
      at = -1;
      byId("start").hidden = false;
      byId("later").textContent = `Could not begin: ${error.message}.`;
    }
  }

  /* ---------------------------------------------------------------- without one */

  const place = `equipoise-study/${data.study}/${data.annotator}`;
  const file = () => ({ format: "equipoise study answers", version: 1, study: data.study, annotator, answers: rows });

  function remember() {
    try {
      localStorage.setItem(place, JSON.stringify(rows));
    } catch {
      tell("This browser keeps nothing: download your answers before you close the page.", true);
    }
  }
  function replay(found) {
    rows = found;
    questions = data.questions.map((question) => ({ ...question }));
    const byNumber = new Map(questions.map((question) => [question.question, question]));
    rows.forEach((row) => Object.assign(byNumber.get(row.question) || {}, { revision: row.revision, value: row.value }));
  }
  function download() {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(file(), null, 1)], { type: "application/json" }));
    link.download = `answers-${annotator.replace(/[^\p{L}\p{N}]+/gu, "-")}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    byId("download").blur();
  }
  async function loadFile(event) {
    const [chosen] = event.target.files;
    event.target.value = "";
    if (!chosen) return;
    let found = null;
    try { found = JSON.parse(await chosen.text()); } catch { /* told below */ }
    if (!found || found.study !== data.study || found.annotator !== annotator || !Array.isArray(found.answers)) {
      tell("This file does not hold your answers to this study.", true);
      return;
    }
    if (found.answers.length < rows.length) {
      tell("That file is older than what is on this page; nothing was changed.", true);
      return;
    }
    replay(found.answers);
    remember();
    at = questions.length - 1;
    go(next());
    event.target.blur();
  }
  byId("download").addEventListener("click", download);
  byId("load").addEventListener("change", loadFile);

  /* ---------------------------------------------------------------- begin */

  document.querySelector("#start .n").textContent = String(data.count);
  byId("begin").addEventListener("submit", (event) => {
    event.preventDefault();
    if (served) {
      annotator = byId("name").value;
      one(begin);
    } else {
      at = questions.length - 1;
      go(next());
    }
  });
  if (served) {
    byId("later").textContent = "Every answer is saved at once. To go on later, on any device, give the same name.";
    try { annotator = decodeURIComponent(location.hash.slice(1)); } catch { annotator = ""; }
    byId("name").value = annotator;
    if (annotator) one(begin);
    else byId("start").hidden = false;
  } else {
    let kept = [];
    try { kept = JSON.parse(localStorage.getItem(place) || "[]"); } catch { /* none */ }
    replay(kept);
    byId("name").value = annotator;
    byId("name").required = false;
    byId("name-of").hidden = true;
    byId("later").textContent =
      `This copy is for ${annotator}. Your answers stay in this browser; at the end, download them and send the file.`;
    byId("start").hidden = false;
  }
})();
