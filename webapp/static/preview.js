// kb preview: takes over what is new when the file or its run has changed, and leaves the reader where they were.
"use strict";

(() => {
  const board = () => document.querySelector(".preview");
  let renewing = false;
  let changedAgain = false;

  async function renew() {
    changedAgain = renewing;
    if (renewing) return;
    renewing = true;
    try {
      const response = await fetch(location.href);
      const next = new DOMParser().parseFromString(await response.text(), "text/html");
      const fresh = next.querySelector(".preview");
      if (!fresh) return;
      const open = [...board().querySelectorAll("details")].map((element) => element.open);
      const chosen = board().querySelector("[name=cause]:checked")?.id;
      const desk = board().querySelector(".desk").scrollTop;
      const focused = document.activeElement?.closest("[data-try]") !== null;
      if (fresh.querySelectorAll("details").length === open.length) {
        fresh.querySelectorAll("details").forEach((element, at) => { element.open ||= open[at]; });
      }
      board().replaceWith(fresh);
      document.title = next.title;
      const tab = chosen && document.getElementById(chosen);
      if (tab) tab.checked = true;
      board().querySelector(".desk").scrollTop = desk;
      ready();
      if (focused) board().querySelector("[data-try] button").focus();
    } finally {
      renewing = false;
      if (changedAgain) renew();
    }
  }

  function ready() {
    for (const element of board().querySelectorAll("[data-key], .copy")) element.hidden = false;
  }

  function say(ended) {
    board().querySelector("[data-ended]").hidden = !ended;
  }

  const source = new EventSource(board().dataset.changes);
  source.addEventListener("open", () => say(false));
  source.addEventListener("error", () => say(true));
  source.addEventListener("message", (event) => { if (event.data !== board().dataset.version) renew(); });

  document.addEventListener("submit", async (event) => {
    if (!event.target.matches("[data-try]")) return;
    event.preventDefault();
    await fetch(event.target.action, { method: "POST", redirect: "manual" });
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "r" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=radio]), textarea")) return;
    const button = board().querySelector("[data-try] button:enabled");
    if (button) { event.preventDefault(); button.form.requestSubmit(); }
  });

  ready();
})();
