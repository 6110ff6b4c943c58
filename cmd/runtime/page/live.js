// Replaces what the page shows by what the server sends, twice a second. A page of one decision stays as it is.
"use strict";
const main = document.getElementById("main"), live = document.getElementById("live");
let pressed = false;
addEventListener("pointerdown", () => { pressed = true; });
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { pressed = false; });

function show(html) {
  if (pressed || !getSelection().isCollapsed) return; // the click or what is selected would be lost
  const scrolled = [...main.querySelectorAll(".wide")].map((e) => e.scrollLeft);
  const link = main.contains(document.activeElement) && document.activeElement.getAttribute("href");
  main.innerHTML = html; // written and escaped by the server's templates
  main.querySelectorAll(".wide").forEach((e, i) => { e.scrollLeft = scrolled[i] || 0; });
  if (link) [...main.querySelectorAll("a")].find((a) => a.getAttribute("href") === link)?.focus({preventScroll: true});
}

if (!main.dataset.of.includes("decision=")) {
  const events = new EventSource("/events?of=" + encodeURIComponent(main.dataset.of));
  events.onmessage = (event) => { show(event.data); live.textContent = ""; };
  events.onerror = () => { live.textContent = "the process does not answer; trying again"; };
}
