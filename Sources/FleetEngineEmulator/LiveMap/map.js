// SPDX-License-Identifier: Apache-2.0
// The entry point of the live map. The other modules need Leaflet, and are loaded only if it is available.
import { byID, make } from "./format.js";

function chosenTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

async function start() {
  const theme = chosenTheme();
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  if (!window.L) {
    byID("map").replaceChildren(
      make("p", "", "The map needs Leaflet. On Debian: apt install libjs-leaflet, then load this page again."));
    return;
  }
  const config = await fetch("/map/config").then((answer) => (answer.ok ? answer.json() : {})).catch(() => ({}));
  const { LiveMap } = await import("./live.js");
  new LiveMap(config ?? {});
}

start();
