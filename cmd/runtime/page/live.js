// Replaces what the page shows by what the server sends, once a second. A page of one decision stays as it is.
"use strict";
const main = document.getElementById("main"), live = document.getElementById("live");
if (!main.dataset.of.includes("decision=")) {
  const events = new EventSource("/events?of=" + encodeURIComponent(main.dataset.of));
  events.onmessage = (event) => {
    main.innerHTML = event.data; // written and escaped by the server's templates
    live.textContent = "";
  };
  events.onerror = () => { live.textContent = "the process does not answer; trying again"; };
}
