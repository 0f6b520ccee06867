"use strict";
const HITS = 10, SEARCHED = 100, NEAR = 5, ROWS = 200, MOST_ROWS = 10000;
const at = id => document.getElementById(id);
// Controls (a line break is a blank here), changes of direction and lone surrogates are shown as escapes.
const HARMFUL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const harmless = text => String(text).replace(HARMFUL, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
const percent = value => Math.round(100 * value) + " %";
let key = sessionStorage.getItem("key") || "", hits = [], asked = "", searches = 0, moved = false, working = 0;
let measure = "cosine";  // what the threshold is compared with, or "probability"

// An element; texts are always text, never HTML.
function make(tag, text = "", classes = "", ...children) {
  const element = document.createElement(tag);
  if (text !== "") { element.textContent = harmless(text); element.dir = "auto"; }
  element.className = classes;
  element.append(...children);
  return element;
}

async function ask(path, body) {
  const headers = {"Content-Type": "application/json"};
  if (key) headers.Authorization = "Bearer " + String.fromCharCode(...new TextEncoder().encode(key));
  let answer, values;
  try {
    answer = await fetch(path, {method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body)});
    // A whole number that JavaScript would round, such as a post's id, stays as it is written.
    values = JSON.parse(await answer.text(), (name, value, cell) =>
      Number.isInteger(value) && !Number.isSafeInteger(value) ? cell?.source ?? value : value);
  } catch { throw new Error("The server does not answer."); }
  if (answer.ok) return values;
  if (answer.status === 401) {
    at("keyform").hidden = false;
    at("about").textContent = "";
    throw new Error(key ? "This is not the key of the server." : "The server needs its key.");
  }
  throw Object.assign(new Error(values.detail), {status: answer.status});
}

// Runs a function and shows that it takes long, and its error, if there is one.
async function trying(work) {
  const clock = setTimeout(() => at("busy").textContent = "Working…", 500);
  working++;
  try { await work(); at("problem").textContent = ""; }
  catch (error) { at("problem").textContent = harmless(error.message); }
  clearTimeout(clock);
  if (!--working) at("busy").textContent = "";
}

function bar(label, value, cut) {
  const track = make("div", "", "track"), fill = make("div", "", "fill");
  fill.style.width = 100 * Math.max(0, value) + "%";
  track.append(fill);
  if (cut !== undefined && cut > 0) {
    const mark = make("div", "", "cut");
    mark.style.left = 100 * cut + "%";
    track.append(mark);
  }
  const shown = label === "Probability" ? percent(value) : value.toFixed(3);
  return make("div", "", "bar", make("span", label), track, make("output", shown));
}

// The bars of an answer; the threshold is marked on what it is compared with.
function bars(answer, cut) {
  const cosine = bar("Cosine", answer.similarity, measure === "cosine" ? cut : undefined);
  if (answer.probability === null) return [cosine];
  return [cosine, bar("Probability", answer.probability, measure === "probability" ? cut : undefined)];
}

const threshold = () => Number(at("threshold").value);
const score = answer => measure === "cosine" ? answer.similarity : answer.probability;
const badge = yes => make("span", yes ? "duplicate" : "different", "badge " + (yes ? "yes" : "no"));

function showHits() {
  const cut = threshold();
  at("cut").textContent = cut.toFixed(3);
  at("hits").replaceChildren(...hits.slice(0, HITS).map(hit => {
    const card = make("li", "", "card", make("div", "", "head", make("div", hit.question, "text"), badge(score(hit) > cut)), ...bars(hit, cut));
    const filled = Object.entries(hit.columns).filter(([, value]) => value !== "" && value !== null);
    const columns = filled.map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`);
    card.append(make("div", [`id ${hit.id}`, ...columns].join(" · "), "soft text"));
    return card;
  }));
  const falling = [...hits].sort((a, b) => score(b) - score(a));
  const line = hit => make("li", "", "", make("span", score(hit).toFixed(3)), make("span", hit.question, "text"));
  const fill = (id, some) => at(id).replaceChildren(...(some.length ? some.map(line) : [make("li", "none", "soft")]));
  const above = falling.filter(hit => score(hit) > cut);
  fill("above", above.slice(-NEAR));
  fill("below", falling.slice(above.length, above.length + NEAR));
  at("around").hidden = !hits.length || !moved;
  const most = hits.length < SEARCHED ? "" : " first";
  at("count").textContent = hits.length ? `Above the threshold: ${above.length} of the${most} ${hits.length} hits.` : asked && "Nothing found.";
}

async function search() {
  const number = ++searches, question = at("question").value.trim();
  const body = {questions: [question], k: SEARCHED, mode: at("mode").value};
  const results = question ? (await ask("/v1/search", body)).results : [[]];
  if (number === searches) { hits = results[0]; asked = question; showHits(); }  // Of what was typed only the last counts.
}

function showWords(id, words) {
  const largest = Math.max(...words.map(word => Math.abs(word.effect || 0)), 1e-9);
  at(id).replaceChildren(...words.map(word => {
    const effect = word.effect === null ? "the only word" : (word.effect > 0 ? "+" : "") + word.effect.toFixed(3);
    const element = make("span", "", "", make("b", word.word), " ", make("small", effect + (word.known ? "" : ", unknown")));
    const strength = .45 * Math.abs(word.effect || 0) / largest;
    element.style.background = `rgba(${word.effect > 0 ? "18, 112, 63" : "214, 92, 22"}, ${strength})`;
    return element;
  }));
}

async function compare() {
  const answer = await ask("/v1/explain", {question1: at("question1").value, question2: at("question2").value});
  at("verdict").textContent = answer.is_duplicate ? "duplicate" : "not a duplicate";
  at("verdict").className = "badge " + (answer.is_duplicate ? "yes" : "no");
  at("figures").replaceChildren(...bars(answer, answer.threshold));
  at("figures").append(make("p", `The mark is the threshold, ${answer.threshold.toFixed(3)}.`, "soft"));
  showWords("words1", answer.words1);
  showWords("words2", answer.words2);
  at("answer").hidden = false;
}

async function showGroups(offset) {
  const page = await ask("/v1/groups", {offset, limit: ROWS});
  const rows = page.rows.map(row => {
    const shown = [row.group, row.id, row.question, row.similarity.toFixed(3)].map(value => make("td", value));
    return make("tr", "", row.keep ? "first" : "", ...shown);
  });
  if (!offset) at("rows").replaceChildren();
  at("rows").append(...rows);
  const shown = at("rows").children.length;
  at("grouped").textContent = `${page.groups} groups of ${page.total} questions` + (shown < page.total ? `, ${shown} shown.` : ".");
  at("table").hidden = !page.total;
  at("more").hidden = shown >= page.total;
}

// A cell of CSV; text that a spreadsheet would take for a formula gets an apostrophe.
const cell = value => {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && isNaN(value) ? "'" + value : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

async function download() {
  const names = ["group", "keep", "similarity", "same_text", "id", "question"], lines = [names.join(",")];
  for (let offset = 0, total = 1; offset < total; offset += MOST_ROWS) {
    const page = await ask("/v1/groups", {offset, limit: MOST_ROWS});
    total = page.total;
    lines.push(...page.rows.map(row => names.map(name => cell(row[name])).join(",")));
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], {type: "text/csv"}));
  link.download = "groups.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

let pair = [], said = [], skipped = [];  // the pair that is shown, the answers given here, the pairs skipped

async function nextPair() {
  const next = await ask("/v1/next-pair", {leave_out: skipped.slice(-1000)});
  pair = next.pair;
  at("one").textContent = harmless(next.shown[0] || "No pair is left to ask about.");
  at("two").textContent = harmless(next.shown[1] || "");
  for (const id of ["yes", "no", "skip"]) at(id).disabled = !pair.length;
  at("undo").disabled = !said.length;
  if (!at("told").textContent) at("told").textContent = `${next.answers} answers.`;
}

// Others may label at the same time: an answer other than `before` stays, and the server refuses this one.
async function tell(sides, is_duplicate, before) {
  const [question1, question2] = sides;
  const now = await ask("/v1/answer", {question1, question2, is_duplicate, before});
  const fitted = now.fitted ? `The threshold is ${now.threshold.toFixed(3)} now.` : "A threshold takes five pairs that are the same, and one that is not.";
  at("told").textContent = `${now.answers} answers. ${fitted}`;
  await start();
  await nextPair();
}

function reply(letter) {
  if (letter === "u" && said.length) {
    const [sides, before] = said.pop();
    trying(() => tell(sides, null, before));
  }
  if (letter === "s" && pair.length) { skipped.push(pair); trying(nextPair); }
  if ((letter === "y" || letter === "n") && pair.length) {
    const sides = pair;
    pair = [];  // A second key does not answer it again.
    const is_duplicate = letter === "y";
    trying(async () => {
      said.push([sides, is_duplicate]);
      try { await tell(sides, is_duplicate, null); }
      catch (error) {
        if (error.status !== 409) throw error;
        said.pop();  // It was not stored.
        skipped.push(sides);
        await nextPair();
        throw error;
      }
    });
  }
}

async function showDocs() {
  const document = await ask("/openapi.json"), schemas = document.components.schemas;
  const named = schema => schema && schema.$ref ? schema.$ref.split("/").pop() : "";
  at("paths").replaceChildren(...Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const card = make("div", "", "card", make("h2", `${method.toUpperCase()} ${path}`), make("p", operation.description));
      const request = named(operation.requestBody && operation.requestBody.content["application/json"].schema);
      const content = Object.values(operation.responses[200].content)[0].schema;
      for (const [title, name] of [["Request", request], ["Answer", named(content)]]) {
        if (!name) continue;
        const details = make("details", "", "", make("summary", `${title}: ${name}`));
        details.append(make("pre"));
        details.lastChild.textContent = JSON.stringify(schemas[name].properties || {}, null, 1);
        card.append(details);
      }
      const codes = Object.entries(operation.responses).map(([code, value]) => `${code}: ${value.description}`);
      card.append(make("details", "", "", make("summary", "Status codes"), ...codes.map(code => make("p", code, "soft"))));
      return card;
    })));
}

async function start() {
  const info = await ask("/v1/info", {});
  at("keyform").hidden = true;
  at("about").textContent = `${info.questions.toLocaleString("en")} questions, threshold ${info.threshold.toFixed(3)}. ${info.note}`;
  at("threshold").value = info.threshold;
  at("measure").textContent = measure = info.measure;
  showHits();
}

const tabs = [...document.querySelectorAll("[role=tab]")];
function choose(tab) {
  for (const other of tabs) {
    other.setAttribute("aria-selected", other === tab);
    other.tabIndex = other === tab ? 0 : -1;
    at(other.getAttribute("aria-controls")).hidden = other !== tab;
  }
  if (tab.id === "tab-label" && !pair.length) trying(nextPair);
  if (tab.id === "tab-docs" && !at("paths").children.length) trying(showDocs);
}
for (const [place, tab] of tabs.entries()) {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const next = tabs[(place + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  });
}

let typing;
at("question").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => trying(search), 150);
});
at("mode").addEventListener("change", () => trying(search));
at("threshold").addEventListener("input", () => { moved = true; showHits(); });
at("pair").addEventListener("submit", event => { event.preventDefault(); trying(compare); });
at("show").addEventListener("click", () => trying(() => showGroups(0)));
at("more").addEventListener("click", () => trying(() => showGroups(at("rows").children.length)));
at("download").addEventListener("click", () => trying(download));
for (const id of ["yes", "no", "skip", "undo"]) at(id).addEventListener("click", () => reply(id[0]));
document.addEventListener("keydown", event => {
  if (!at("label").hidden && !event.ctrlKey && !event.metaKey && !event.altKey) reply(event.key);
});
at("keyform").addEventListener("submit", event => {
  event.preventDefault();
  key = at("key").value;
  sessionStorage.setItem("key", key);
  trying(start);
});
choose(tabs[location.pathname === "/docs" ? 4 : 0]);
trying(start);
