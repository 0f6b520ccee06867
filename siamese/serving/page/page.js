"use strict";
const HITS = 10, SEARCHED = 100, NEAR = 5, ROWS = 200, MOST_ROWS = 10000;
const LONG = 300;  // characters of a text that are shown at once
const MOST_MEMBERS = 500;  // of a group that is answered as a whole
const at = id => document.getElementById(id);
// Controls (a line break is a blank here), changes of direction and lone surrogates are shown as escapes.
const HARMFUL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const harmless = text => String(text).replace(HARMFUL, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
const percent = value => Math.round(100 * value) + " %";
const several = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const WORDED = /[\p{L}\p{N}]/u;
const NO_WORDS = "Type a question with at least one letter or digit.";
let key = sessionStorage.getItem("key") || "", working = 0;
let info = {measure: "cosine", threshold: 0, is_fitted: true, joined: [], languages: [], read_only: true};

// ---- Elements and requests ----

// An element; texts are always text, never HTML.
function make(tag, text = "", classes = "", ...children) {
  const element = document.createElement(tag);
  if (text !== "") { element.textContent = harmless(text); element.dir = "auto"; }
  element.className = classes;
  element.append(...children);
  return element;
}

function button(text, classes, work) {
  const element = make("button", text, classes);
  element.type = "button";
  element.addEventListener("click", work);
  return element;
}

// The sign of yes or no, as the buttons of the page have it.
const icon = name => at(name).querySelector("svg").cloneNode(true);

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
  // Without the place in the request, which the page has made: "body.question1: a question needs ..."
  const detail = values.detail.replace(/^body[\w.]*: /, "");
  throw Object.assign(new Error(detail[0].toUpperCase() + detail.slice(1)), {status: answer.status});
}

// Runs a function and shows that it takes long, and its error, if there is one.
async function trying(work) {
  const clock = setTimeout(() => at("busy").textContent = "Working…", 500);
  working++;
  at("problem").textContent = "";
  try { await work(); }
  catch (error) { at("problem").textContent = harmless(error.message); }
  clearTimeout(clock);
  if (!--working) at("busy").textContent = "";
}

// ---- What is shown of a question and of an answer ----

function bar(label, value, cut) {
  const track = make("div", "", "track"), fill = make("div", "", "fill");
  fill.style.width = 100 * Math.max(0, value) + "%";
  track.append(fill);
  if (cut !== undefined && cut > 0) {
    const mark = make("div", "", "cut");
    mark.style.left = 100 * cut + "%";
    track.append(mark);
  }
  const shown = label === "probability" ? percent(value) : value.toFixed(3);
  return make("div", "", "bar", make("output", shown), track, make("span", label));
}

// The bars of an answer; the threshold is marked on what it is compared with.
function bars(answer, cut) {
  if (info.measure === "cosine") return [bar("cosine", answer.similarity, cut)];
  return [bar("cosine", answer.similarity), bar("probability", answer.probability, cut)];
}

// The verdict on an answer. Above the threshold only the near-miss check says "different".
function badge(answer, cut) {
  if (answer.is_duplicate) return make("span", "", "badge yes", icon("yes"), " duplicate");
  if (score(answer) > cut) return make("span", "", "badge no", icon("no"), " different");
  return make("span", "below the threshold", "badge low");
}

// A text of which the end is shown when it is asked for.
function longText(text, classes) {
  if (text.length <= LONG + 50) return make("div", text, classes);
  const start = text.slice(0, LONG).replace(/\s+\S*$/, "");
  return make("details", "", classes, make("summary", start + " …"), make("div", text.slice(start.length), "text"));
}

// A web address is a link, and every other value text.
function valueOf(value) {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  if (!/^https?:\/\/\S+$/i.test(text) || !URL.canParse(text)) return harmless(text);
  const link = make("a", text);
  link.href = text;
  link.rel = "noopener noreferrer";
  link.target = "_blank";
  return link;
}

const normal = name => name.normalize().toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

// A question: its text, or the columns that make it, and the names of these columns.
function questionOf(hit) {
  const names = info.joined.map(normal);
  const own = Object.keys(hit.columns).filter(name => names.includes(normal(name)));
  const parts = names.map(name => own.find(other => normal(other) === name));
  if (names.length < 2 || parts.some(name => name === undefined)) return [[longText(hit.question, "text")], []];
  const texts = parts.map(name => String(hit.columns[name] ?? "")).filter(text => text.trim());
  const [title = hit.question, ...rest] = texts;
  return [[longText(title, "text title"), ...rest.map(text => longText(text, "text"))], own];
}

// The id of a hit, its language, and its other columns.
function factsOf(hit, left_out) {
  const id = make("span", hit.id, "id");
  id.title = harmless(hit.id);
  const facts = make("div", "", "facts soft", id);
  if (hit.language) facts.append(make("span", languageName(hit.language)));
  for (const [name, value] of Object.entries(hit.columns)) {
    if (value === "" || value === null || left_out.includes(name)) continue;
    facts.append(make("span", "", "", harmless(name) + ": ", valueOf(value)));
  }
  return facts;
}

function languageName(code) {
  try { return new Intl.DisplayNames(["en"], {type: "language"}).of(code); } catch { return code; }
}

const difference = text => make("p", "", "difference", make("b", "Difference: "), harmless(text));

// ---- Search ----

let hits = [], asked = "", order = "hybrid", searches = 0;
let moved = false;  // Is the threshold another than that of the index?
let floor = null;  // the cosine below which no hit is similar
let all = false;  // Are such hits shown, too?

const threshold = () => Number(at("threshold").value);
const score = answer => info.measure === "cosine" ? answer.similarity : answer.probability;
const hasVerdict = () => info.is_fitted || moved;

function hitCard(hit) {
  const [texts, names] = questionOf(hit);
  const figures = make("div", "", "figures", ...bars(hit, hasVerdict() ? threshold() : undefined));
  const card = make("li", "", "card hit", figures, make("div", "", "", ...texts));
  if (hasVerdict()) card.append(badge(hit, threshold()));
  const rest = make("div", "", "rest");
  if (hit.difference) rest.append(difference(hit.difference));
  rest.append(factsOf(hit, names));
  card.append(rest);
  return card;
}

// The hits that are similar enough to be shown.
function nearHits() {
  return (all || floor === null ? hits : hits.filter(hit => hit.similarity >= floor)).slice(0, HITS);
}

function showHits() {
  const shown = nearHits(), fewer = Math.min(HITS, hits.length) - shown.length;
  at("cut").textContent = threshold().toFixed(3);
  at("hits").replaceChildren(...shown.map(hitCard));
  at("count").textContent = countOf(shown);
  at("order").textContent = shown.length ? orderOf(shown) : "";
  at("unfitted").hidden = !shown.length || hasVerdict();
  at("less").hidden = !fewer;
  at("fewer").textContent = `${fewer === 1 ? "One hit has" : `${fewer} hits have`} a cosine below ${floor}, where fewer than 1 in 20 first hits are right.`;
  showAround();
}

function countOf(shown) {
  if (!asked) return "";
  if (!WORDED.test(asked)) return NO_WORDS;
  if (!shown.length) return hits.length ? "Nothing similar found." : "Nothing found.";
  if (!hasVerdict()) return `The nearest of ${several(info.questions, "question")}:`;
  const duplicates = hits.filter(hit => hit.is_duplicate).length;
  const of = hits.length < SEARCHED ? several(hits.length, "hit") : `the first ${hits.length} hits`;
  return `Duplicates by the threshold: ${duplicates} of ${of}.`;
}

// Why a hit with a smaller cosine comes before one with a larger one.
function orderOf(shown) {
  if (!shown.some((hit, place) => place && hit.similarity > shown[place - 1].similarity)) return "";
  if (order === "words") return "Shared words alone order the hits, so a smaller cosine can come first.";
  return "Cosine and shared words order the hits together, so a smaller cosine can come first.";
}

function showAround() {
  const falling = [...hits].sort((a, b) => score(b) - score(a));
  const line = hit => make("li", "", "", make("span", score(hit).toFixed(3)), make("span", hit.question, "text"));
  const fill = (id, some) => at(id).replaceChildren(...(some.length ? some.map(line) : [make("li", "none", "soft")]));
  fill("above", falling.filter(hit => hit.is_duplicate).slice(-NEAR));
  fill("below", falling.filter(hit => !hit.is_duplicate).slice(0, NEAR));
  at("around").hidden = !hits.length || !moved;
}

// The address of the page has the question, so that it can be sent to somebody.
function keepAddress(question) {
  const address = new URL(location.href);
  if (question) address.searchParams.set("q", question);
  else address.searchParams.delete("q");
  history.replaceState(null, "", address);
}

async function search() {
  const number = ++searches, question = at("question").value.trim(), mode = at("mode").value;
  keepAddress(question);
  at("examples").hidden = Boolean(question) || !at("examples").children.length;
  let found = [], own_floor = null;
  try {
    if (WORDED.test(question)) {
      const body = {questions: [question], k: SEARCHED, mode, threshold: moved ? threshold() : null, within: limits()};
      ({results: [found], floors: [own_floor]} = await ask("/v1/search", body));
    }
  } finally {
    if (number === searches) {  // Of what was typed only the last counts.
      if (question !== asked) all = false;
      [hits, asked, order, floor] = [found, question, mode, own_floor];
      showHits();
    }
  }
}

// The columns to which the search is limited, and their values.
function limits() {
  const chosen = [...at("limits").querySelectorAll("select")].filter(select => select.value);
  return Object.fromEntries(chosen.map(select => [select.dataset.column, JSON.parse(select.value)]));
}

function limit(column, label, choices) {
  const select = make("select");
  select.dataset.column = column;
  select.append(...[["", "any"], ...choices].map(([value, text]) => {
    const option = make("option", text);
    option.value = value;
    return option;
  }));
  select.addEventListener("change", now);
  return make("label", "", "", harmless(label), select);
}

async function showExamples() {
  const {questions, values} = await ask("/v1/examples", {});
  const selects = Object.entries(values).map(([name, own]) =>
    limit(name, name, own.map(value => [JSON.stringify(value), value])));
  if (info.languages.length > 1 && !("language" in values)) {
    selects.push(limit("language", "Language", [["null", "that of the question"]]));
  }
  at("limits").replaceChildren(...selects);
  const chips = questions.map(text => button(text, "", () => { at("question").value = text; trying(search); }));
  at("examples").replaceChildren(...(chips.length ? [make("span", "Try:", "soft"), ...chips] : []));
  at("examples").hidden = !chips.length || Boolean(at("question").value);
}

// ---- Comparison ----

function showWords(id, words) {
  const largest = Math.max(...words.map(word => Math.abs(word.effect || 0)), 1e-9);
  at(id).replaceChildren(...words.map(word => {
    const effect = word.effect === null ? "the only word" : (word.effect > 0 ? "+" : "") + word.effect.toFixed(3);
    const element = make("span", "", "", make("b", word.word), " ", make("small", effect + (word.known ? "" : ", unknown")));
    const strength = .4 * Math.abs(word.effect || 0) / largest;
    element.style.background = `rgba(${word.effect > 0 ? "30, 150, 90" : "224, 110, 40"}, ${strength})`;
    return element;
  }));
}

async function compare() {
  at("answer").hidden = true;
  const answer = await ask("/v1/explain", {question1: at("question1").value, question2: at("question2").value});
  if (info.is_fitted) at("verdict").replaceChildren(badge(answer, answer.threshold));
  else at("verdict").textContent = "No verdict: no threshold has been fitted to this list.";
  at("difference").hidden = !answer.difference;
  at("difference").replaceChildren(make("b", "Difference: "), harmless(answer.difference || ""));
  at("figures").replaceChildren(...bars(answer, info.is_fitted ? answer.threshold : undefined));
  if (info.is_fitted) at("figures").append(make("p", `The mark is the threshold, ${answer.threshold.toFixed(3)}.`, "soft"));
  showWords("words1", answer.words1);
  showWords("words2", answer.words2);
  at("answer").hidden = false;
}

// ---- Groups ----

let groups = [];  // {name, rows, done}: `done` are the answers about the group that were given here
let total = 0;

async function showGroups(offset) {
  const page = await ask("/v1/groups", {offset, limit: ROWS});
  if (!offset) groups = [];
  for (const row of page.rows) {
    if (groups.at(-1)?.name !== row.group) groups.push({name: row.group, rows: [], done: []});
    groups.at(-1).rows.push(row);
  }
  total = page.total;
  const shown = offset + page.rows.length;
  at("grouped").textContent = `${several(page.groups, "group")} of ${several(total, "question")}${shown < total ? `, ${shown} shown` : ""}.`;
  at("more").hidden = shown >= total;
  at("cards").replaceChildren(...groups.map(groupCard));
}

// Whether two rows of a group have one text but for case and blanks: then there is nothing to answer.
const plain = text => text.toLowerCase().replace(/[“”„]/g, '"').replace(/[‘’]/g, "'").split(/\s+/).filter(Boolean).join(" ");
const sameText = (one, two) => (one.same_text && two.same_text) || plain(one.question) === plain(two.question);

// The pairs of one question of a group with each other text of it.
function pairsWith(row, rows) {
  const others = new Map(rows.filter(other => !sameText(row, other)).map(other => [plain(other.question), other]));
  return [...others.values()].map(other => [row.question, other.question]);
}

function groupCard(group) {
  const {name, rows, done} = group, last = done.at(-1);
  const is_whole = group !== groups.at(-1) || at("more").hidden;
  const may_answer = is_whole && rows.length <= MOST_MEMBERS && pairsWith(rows[0], rows).length;
  const header = make("header", "", "", make("h2", "", "", make("span", name, "id"), ` · ${several(rows.length, "question")}`));
  if (may_answer && !last) header.append(button("All the same", "small", () => trying(() => tellGroup(group, rows[0], true))));
  const card = make("div", "", "card group", header);
  if (last) card.append(make("p", "", "note", `${last.text} `, button("Undo", "small", () => trying(() => untellGroup(group)))));
  const left = done.filter(step => !step.is_duplicate).map(step => step.row);
  card.append(make("ul", "", "members", ...rows.map(row => {
    const text = make("div", "", "", make("div", row.question, "text"));
    if (row.difference) text.append(difference(row.difference));
    text.append(make("div", "", "soft facts", make("span", row.id, "id")));
    const line = make("li", "", left.includes(row) ? "left" : "", make("span", row.keep ? "" : row.similarity.toFixed(3), "soft"), text);
    if (may_answer && !last && pairsWith(row, rows).length) {
      const apart = button("Not part of this group", "small", () => trying(() => tellGroup(group, row, false)));
      apart.setAttribute("aria-label", `Not part of this group: ${harmless(row.question)}`);
      line.append(apart);
    }
    return line;
  })));
  group.card?.replaceWith(card);
  group.card = card;
  return card;
}

async function sendAnswers(pairs) {
  const now = await ask("/v1/answers", {pairs});
  at("grouped").textContent = `${fitOf(now)} “Show groups” makes the groups again.`;
  await refresh();
  return now;
}

async function tellGroup(group, row, is_duplicate) {
  const pairs = pairsWith(row, group.rows);
  const now = await sendAnswers(pairs.map(([question1, question2]) => ({question1, question2, is_duplicate})));
  const what = is_duplicate ? "Stored: all of these are the same." : `Stored: “${row.question}” is not part of this group.`;
  group.done.push({row, is_duplicate, pairs, before: now.before, text: harmless(what)});
  groupCard(group);
  group.card.querySelector("button").focus();
}

async function untellGroup(group) {
  const {pairs, before, is_duplicate} = group.done.at(-1);
  await sendAnswers(pairs.map(([question1, question2], place) =>
    ({question1, question2, is_duplicate: before[place], before: is_duplicate})));
  group.done.pop();
  groupCard(group);
  group.card.querySelector("button").focus();
}

// A cell of CSV; text that a spreadsheet would take for a formula gets an apostrophe.
const cell = value => {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && isNaN(value) ? "'" + value : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

// The columns of a table of groups, also of one without rows.
const GROUP_COLUMNS = ["group", "keep", "similarity", "difference", "same_text", "id", "question"];

async function download() {
  const lines = [];
  for (let offset = 0, end = 1; offset < end; offset += MOST_ROWS) {
    const page = await ask("/v1/groups", {offset, limit: MOST_ROWS});
    const names = page.rows.length ? Object.keys(page.rows[0]) : GROUP_COLUMNS;
    if (!offset) lines.push(names.join(","));
    end = page.total;
    lines.push(...page.rows.map(row => names.map(name => cell(row[name])).join(",")));
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], {type: "text/csv"}));
  link.download = "groups.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// ---- Answers about pairs ----

let pair = [], said = [], skipped = [];  // the pair that is shown, the answers given here, the pairs skipped

async function nextPair() {
  const next = await ask("/v1/next-pair", {leave_out: skipped.slice(-1000)});
  pair = next.pair;
  at("one").textContent = harmless(next.shown[0] || "No pair is left to ask about.");
  at("two").textContent = harmless(next.shown[1] || "");
  for (const id of ["yes", "no", "skip"]) at(id).disabled = !pair.length;
  at("undo").disabled = !said.length;
  if (!at("told").textContent) at("told").textContent = `${several(next.answers, "answer")}.`;
}

const fitOf = now => `${several(now.answers, "answer")}. ` + (now.fitted
  ? `The threshold is ${now.threshold.toFixed(3)} now.`
  : "A threshold takes five pairs that are the same, and one that is not.");

// Others may answer at the same time: an answer other than `before` stays, and the server refuses this one.
async function tell(sides, is_duplicate, before) {
  const [question1, question2] = sides;
  const now = await ask("/v1/answer", {question1, question2, is_duplicate, before});
  at("told").textContent = fitOf(now);
  await refresh();
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

// ---- The API ----

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

// ---- The page ----

async function start() {
  info = await ask("/v1/info", {});
  at("keyform").hidden = true;
  const cut = info.is_fitted ? `threshold ${info.threshold.toFixed(3)}` : "no threshold fitted yet";
  at("about").textContent = `${several(info.questions, "question")}, ${cut}.`;
  if (!moved) at("threshold").value = info.threshold;
  at("measure").textContent = info.measure;
  for (const name of ["groups", "pairs"]) at("tab-" + name).hidden = info.read_only;
  const how = button("Answer about thirty pairs", "link", () => { choose(at("tab-pairs")); at("tab-pairs").focus(); });
  at("unfitted").replaceChildren("No threshold is fitted to this list yet, so hits have no verdict. ",
    ...(info.read_only ? ["The command siamese threshold fits one."] : [how, " to fit one."]));
  showHits();
}

// After an answer, which may move the threshold.
async function refresh() {
  await start();
  if (asked) await search();
}

// The first load, and again when the key is known.
async function open() {
  await start();
  await showExamples();
  if (at("question").value) await search();
  if (!at("docs").hidden) await showDocs();
}

const tabs = [...document.querySelectorAll("[role=tab]")];
function choose(tab) {
  for (const other of tabs) {
    other.setAttribute("aria-selected", other === tab);
    other.tabIndex = other === tab ? 0 : -1;
    at(other.getAttribute("aria-controls")).hidden = other !== tab;
  }
  if (tab.id === "tab-pairs" && !pair.length) trying(nextPair);
  if (tab.id === "tab-docs" && !at("paths").children.length) trying(showDocs);
}
for (const tab of tabs) {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key], there = tabs.filter(other => !other.hidden);
    if (!step) return;
    const next = there[(there.indexOf(tab) + step + there.length) % there.length];
    choose(next);
    next.focus();
  });
}

let typing;
const later = () => { clearTimeout(typing); typing = setTimeout(() => trying(search), 150); };
const now = () => { clearTimeout(typing); trying(search); };
at("question").addEventListener("input", later);
at("question").addEventListener("keydown", event => {
  if (event.key !== "Escape") return;
  event.preventDefault();
  at("question").value = "";
  now();
});
at("ask").addEventListener("submit", event => { event.preventDefault(); now(); });
at("mode").addEventListener("change", now);
at("threshold").addEventListener("input", () => { moved = true; at("cut").textContent = threshold().toFixed(3); later(); });
at("all").addEventListener("click", () => { all = true; showHits(); at("question").focus(); });
at("pair").addEventListener("submit", event => { event.preventDefault(); trying(compare); });
at("show").addEventListener("click", () => trying(() => showGroups(0)));
at("more").addEventListener("click", () => trying(() => showGroups(groups.reduce((sum, group) => sum + group.rows.length, 0))));
at("download").addEventListener("click", () => trying(download));
for (const id of ["yes", "no", "skip", "undo"]) at(id).addEventListener("click", () => reply(id[0]));
document.addEventListener("keydown", event => {
  const is_typed = event.target.matches("input, textarea, select");
  if (!at("pairs").hidden && !is_typed && !event.ctrlKey && !event.metaKey && !event.altKey) reply(event.key);
});
at("keyform").addEventListener("submit", event => {
  event.preventDefault();
  key = at("key").value;
  sessionStorage.setItem("key", key);
  trying(open);
});
at("question").value = new URLSearchParams(location.search).get("q")?.trim().slice(0, 10000) ?? "";
choose(tabs[location.pathname === "/docs" ? tabs.length - 1 : 0]);
trying(open);
