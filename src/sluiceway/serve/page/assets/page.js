// Keeps the parts marked data-live fresh: the server says that something changed, and writes them anew.
"use strict";
(() => {
  const parts = () => document.querySelectorAll("[data-live]");
  if (!parts().length || !window.EventSource) return;
  const dot = document.getElementById("link");
  const own = location.pathname.startsWith("/runs/") ? location.pathname.slice(6) : null;
  let due = false, busy = false;

  async function refresh() {
    if (busy) return;
    busy = true;
    try {
      while (due) {
        due = false;
        const answer = await fetch(location.pathname, { cache: "no-store" });
        if (!answer.ok) continue;
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const part of parts()) {
          const now = fresh.getElementById(part.id);
          if (now && now.innerHTML !== part.innerHTML) part.replaceChildren(...now.childNodes);
        }
        await new Promise((done) => setTimeout(done, 250));
      }
    } catch {
      // The server is gone; the stream of events will say when it is back.
    } finally {
      busy = false;
    }
  }

  // A browser keeps few connections to one server: a page that nobody looks at gives its own up.
  let events = null;

  function follow() {
    if (events || document.hidden) return;
    events = new EventSource("/events");
    events.onopen = () => { dot.hidden = false; due = true; refresh(); };
    events.onerror = () => { dot.hidden = true; };
    events.onmessage = (event) => {
      if (own !== null && JSON.parse(event.data).run !== own) return;
      due = true;
      refresh();
    };
  }

  function leave() {
    if (events) events.close();
    events = null;
    dot.hidden = true;
  }

  document.addEventListener("visibilitychange", () => { if (document.hidden) leave(); else follow(); });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", follow);
  follow();
})();
