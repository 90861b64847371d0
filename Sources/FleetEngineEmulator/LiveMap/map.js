// SPDX-License-Identifier: Apache-2.0
// The live map begins here. The rest needs Leaflet, and is loaded only if that is there.
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
