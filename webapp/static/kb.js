// Makes the page quicker to use; everything it does has a plain form or link below it that works without.
"use strict";

const $ = (selector, root = document) => root.querySelector(selector);
const root = document.documentElement;
const store = {
  get(area, key) { try { return area().getItem(key); } catch { return null; } },
  set(area, key, value) { try { value === null ? area().removeItem(key) : area().setItem(key, value); } catch { /* not remembered */ } },
};
const lasting = () => localStorage;
const passing = () => sessionStorage;

// Colours: as the system, light, dark, and round again.
function showTheme() {
  const button = $("[data-theme-switch]");
  const label = button.dataset[root.dataset.theme || "auto"];
  button.hidden = false;
  button.title = label;
  button.setAttribute("aria-label", label);
}

function switchTheme() {
  const next = { undefined: "light", light: "dark", dark: undefined }[root.dataset.theme];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
  store.set(lasting, "theme", next ?? null);
  showTheme();
}

// Copying: the text that the button carries, or that of the element that it names.
async function copy(button) {
  const text = (button.dataset.text ?? $(`#${CSS.escape(button.dataset.copy)}`).textContent).replace(/\n*$/, "\n");
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  const before = button.dataset.label ?? (button.dataset.label = button.textContent);
  button.textContent = button.dataset.copied;
  clearTimeout(button.timer);
  button.timer = setTimeout(() => { button.textContent = before; }, 2000);
  announce(button.dataset.copied);
}

function copyBySelection(text) {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

function announce(text) {
  const status = $("#status");
  if (status) status.textContent = text;
}

// Asking without leaving the page. The server's answer is the whole page; what is new in it is taken over.
let asking = null;
const LONGEST = 300_000; // characters, fewer than a mebibyte in any script; of a longer log the error stands at the end

async function ask(form, { language, remembered } = {}) {
  const text = $("#text");
  if (text.value.length > LONGEST) text.value = text.value.slice(-LONGEST);
  const button = $("button.primary", form);
  asking?.abort();
  const mine = asking = new AbortController();
  form.setAttribute("aria-busy", "true");
  button.dataset.label ??= button.textContent;
  button.textContent = form.dataset.busy;
  try {
    const data = new URLSearchParams(new FormData(form));
    if (language) data.set(language.name, language.value);
    const response = await fetch(language?.formAction ?? form.action, { method: "POST", body: data, signal: mine.signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (asking === mine) show(page, form, { language, remembered });
  } catch (error) {
    if (error.name === "AbortError") return;
    const notice = document.createElement("p");
    notice.className = "notice";
    notice.textContent = form.dataset.offline;
    $("#answer").replaceChildren(notice);
    announce(form.dataset.offline);
  }
  if (asking !== mine) return;
  form.removeAttribute("aria-busy");
  button.textContent = button.dataset.label;
}

function show(page, form, { language, remembered }) {
  const answer = $("#answer");
  const found = $("#answer", page);
  if (!language && !remembered) rememberAsked();
  if (found && page.documentElement.lang !== root.lang) {
    document.body.replaceWith(page.body); // a question in Chinese is answered on the Chinese page
    root.lang = page.documentElement.lang;
    begin();
  } else if (found) {
    answer.replaceChildren(...found.childNodes);
    $("h1").className = $("h1", page).className;
    form.className = $("#ask", page).className;
    $(".lead")?.remove();
    $(".start")?.remove();
  } else {
    answer.replaceChildren(...$("main", page).childNodes);
  }
  document.title = page.title;
  $("#text")?.scrollTo(0, 0);
  refine(document);
  if (found && language) {
    history.replaceState(history.state, "", language.formAction);
    $("[data-lang]").focus({ preventScroll: true });
    restorePlace();
    return;
  }
  announce(found ? form.dataset.done : $("h1", answer).textContent);
  $("#answer").focus({ preventScroll: true });
  if (remembered) returnTo(remembered);
  else scrollTo({ top: 0, behavior: "instant" });
}

// Each answer is an entry in this tab's history: what was asked, the cause that was chosen, and how far down the reader was. The address has none of it.
let shown = null; // the text that the answer on the page is about

function rememberAsked() {
  const asked = $("#text").value;
  const here = new URL(location);
  if (here.searchParams.get("q") !== asked) here.searchParams.delete("q"); // the address asked something else
  here.hash = "";
  const state = asked.length <= 100_000 ? { asked } : null;
  if (history.state?.asked === asked) history.replaceState(state, "", here);
  else history.pushState(state, "", here);
  shown = asked;
  history.scrollRestoration = "manual";
}

function remember(part) {
  if (history.state?.asked && history.state.asked === shown && !$("[aria-busy]")) history.replaceState({ ...history.state, ...part }, "");
}

function returnTo({ cause, top }) {
  const input = cause && document.getElementById(cause);
  if (input) input.checked = true;
  scrollTo({ top: top ?? 0, behavior: "instant" });
}

function askAgain(state) {
  const text = $("#text");
  history.scrollRestoration = "manual";
  text.value = shown = state.asked;
  ask(text.form, { remembered: state });
}

function comeBack() {
  const came = performance.getEntriesByType("navigation")[0]?.type;
  if ($("#text") && !$("#text").value && came !== "navigate" && history.state?.asked) askAgain(history.state);
}

addEventListener("popstate", (event) => {
  if (!$("#text") || (location.hash && !event.state)) return;
  if (event.state?.asked && event.state.asked === shown) returnTo(event.state);
  else if (event.state?.asked) askAgain(event.state);
  else location.reload();
});

let resting = 0;
addEventListener("scroll", () => {
  clearTimeout(resting);
  resting = setTimeout(() => remember({ top: scrollY }), 100);
}, { passive: true });

// Did this help? The answer is sent. After a yes, thanks take the buttons' place; after a no, the next cause is shown.
async function tell(form, button) {
  const data = new FormData(form);
  data.set(button.name, button.value);
  const response = await fetch(form.action, { method: "POST", body: data }).catch(() => null);
  const status = $("[role=status]", form);
  if (!response?.ok) {
    status.textContent = form.dataset.failed;
    return;
  }
  for (const other of form.querySelectorAll("button")) other.remove();
  status.textContent = form.dataset.thanks;
  if (button.value === "no") goOn(form.closest(".panel"), status, form.dataset);
}

function goOn(panel, status, words) {
  const label = panel.previousElementSibling;
  status.textContent = words.none;
  if (!label?.control) return;
  label.classList.add("refused");
  const labels = [...panel.parentElement.querySelectorAll("label")];
  const after = labels.slice(labels.indexOf(label));
  const next = [...after, ...labels].find((other) => !other.classList.contains("refused"));
  if (!next) return;
  next.control.checked = true;
  next.control.focus({ preventScroll: true });
  remember({ cause: next.control.id });
  const text = words.next.replace("{cause}", $("span", label).textContent);
  announce(text);
  $(".refusal")?.remove();
  const notice = document.createElement("p");
  notice.className = "notice refusal";
  notice.textContent = text;
  panel.parentElement.before(notice);
  notice.scrollIntoView({ block: "nearest" });
}

// Running: start the stored programs, then ask again and again what they have printed.
async function run(form) {
  const words = JSON.parse(form.dataset.words);
  const outputs = $(".outputs", form.closest(".case"));
  const say = (text) => { $("[role=status]", form).textContent = text; };
  const send = (url, options) => fetch(url, { headers: { Accept: "application/json" }, ...options }).then(async (response) => {
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(answer.message || words.broken);
    return answer;
  });
  const [start, cancel] = form.querySelectorAll("button");
  for (const output of outputs.querySelectorAll("samp, .way")) output.textContent = "";
  start.disabled = true;
  try {
    let job = await send(form.action, { method: "POST", body: new FormData(form) });
    cancel.hidden = false;
    cancel.onclick = () => send(job.cancel, { method: "POST" });
    for (let seen = 0; ; job = await send(`${job.follow}?seen=${seen}`)) {
      seen += job.events.length;
      for (const event of job.events) print(outputs, event, words);
      if (seen) outputs.hidden = false;
      say(words[job.state === "failed" ? "broken" : job.state].replace("{ahead}", job.ahead));
      if (["done", "cancelled", "failed"].includes(job.state)) break;
      await new Promise((next) => setTimeout(next, 250));
    }
  } catch (error) {
    say(error instanceof TypeError ? words.offline : error.message);
  }
  start.disabled = false;
  cancel.hidden = true;
}

function print(outputs, event, words) {
  const figure = $(`[data-role=${event.role}]`, outputs);
  const shown = $("samp", figure);
  if (event.stream === "end") {
    $(".way", figure).textContent = words[`way.${event.text}`].replace("{seconds}", event.seconds);
    if (!shown.textContent) shown.append(words.nothing);
  } else {
    shown.append(event.text);
    shown.closest(".scroll").scrollTop = shown.offsetHeight; // a traceback ends in what it says
  }
}

// The language switch keeps the place: the heading at the top of the window, and how far above it the window begins.
function headings() {
  return [...document.querySelectorAll("main h1, main h2, main h3")];
}

function rememberPlace() {
  const all = headings();
  const index = all.findLastIndex((heading) => heading.getBoundingClientRect().top <= 80);
  const cases = [...document.querySelectorAll(".causes input")].findIndex((input) => input.checked);
  const top = index < 0 ? scrollY : -all[index].getBoundingClientRect().top;
  store.set(passing, "place", JSON.stringify({ path: location.pathname, index, top, cases }));
}

function restorePlace() {
  const place = JSON.parse(store.get(passing, "place") || "null");
  store.set(passing, "place", null);
  if (!place || place.path !== location.pathname) return;
  const input = document.querySelectorAll(".causes input")[place.cases];
  if (input) input.checked = true;
  const heading = headings()[place.index];
  scrollTo({ top: heading ? heading.getBoundingClientRect().top + scrollY + place.top : place.top, behavior: "instant" });
}

// Browsing: hide what does not hold all the words.
function filter(words) {
  for (const item of document.querySelectorAll(".topic .entries li")) {
    const text = item.textContent.toLowerCase() + " " + $("a", item).pathname;
    item.hidden = !words.every((word) => text.includes(word));
  }
  for (const section of document.querySelectorAll(".topic")) section.hidden = !$("li:not([hidden])", section);
  const nothing = $("[data-nothing]");
  nothing.textContent = $(".topic:not([hidden])") ? "" : nothing.dataset.nothing;
}

// What new content needs: buttons that only work with this script, and the case that the address names.
function refine(part) {
  for (const element of part.querySelectorAll(".copy, [data-keys], [data-filter]")) element.hidden = false;
}

function openNamedCase() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (!target) return;
  if (target.matches("details")) target.open = true;
  const input = target.name === "cause" ? target : target.closest(".panel")?.previousElementSibling?.control;
  if (!input || input.checked) return;
  input.checked = true;
  target.scrollIntoView({ block: "start" });
}

function begin() {
  showTheme();
  refine(document);
  const text = $("#text");
  if (text && !text.value && matchMedia("(hover: hover)").matches) text.focus({ preventScroll: true });
}

document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-run]")) {
    event.preventDefault();
    run(event.target);
  }
  if (event.target.matches(".helped")) {
    event.preventDefault();
    tell(event.target, event.submitter);
  }
  if (event.target.id !== "ask") return;
  event.preventDefault();
  ask(event.target, { language: event.submitter?.name === "switch" ? event.submitter : undefined });
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-theme-switch]")) switchTheme();
  const button = event.target.closest(".copy");
  if (button) copy(button);
  if (event.target.closest("[data-lang]")) rememberPlace();
  if (event.target.closest("a")) remember({ top: scrollY });
});

document.addEventListener("change", (event) => {
  if (event.target.name === "cause") remember({ cause: event.target.id });
});

document.addEventListener("paste", (event) => {
  if (event.target.id !== "text") return;
  const { value, selectionStart, selectionEnd } = event.target;
  if ((value.slice(0, selectionStart) + value.slice(selectionEnd)).trim()) return; // put into a text: it may not be ready
  setTimeout(() => { if (event.target.value.trim()) event.target.form.requestSubmit(); });
});

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && event.target.id === "text") {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=radio]), textarea")) return;
  event.preventDefault();
  const text = $("#text");
  if (text) { text.focus(); text.select(); } else $("[data-ask]")?.click();
});

document.addEventListener("input", (event) => {
  if (event.target.id === "filter") filter(event.target.value.toLowerCase().split(/\s+/).filter(Boolean));
});

addEventListener("hashchange", openNamedCase);
begin();
openNamedCase();
restorePlace();
comeBack();
