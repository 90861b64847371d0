// SPDX-License-Identifier: Apache-2.0
// The figures of the selected vehicle, and the list of all.
import { age, byID, compass, count, isNumber, kmh, make, metres, rest, setText, several, span } from "./format.js";
import { isOutOfTouch } from "./model.js";

export const STATES = {
  wait: "Waiting", drive: "Driving", park: "Parked", silent: "Silent", refused: "Refused", tunnel: "No network", off: "Off duty",
};

/** Up to this number of rows all are updated, even those out of view. */
const SHORT = 60;

/** Shown until there is a vehicle, and again after a restart of the emulator. */
const NONE = { name: "No vehicle yet", isForTrips: false, colour: "", stats: {}, latest: null };

export class Panel {
  constructor(fleet, onSelect) {
    this.fleet = fleet;
    this.onSelect = onSelect;
    this.rows = new Map();
    this.spark = byID("spark").querySelectorAll("path");
  }

  clear() {
    this.rows.clear();
    this.pressed = undefined;
    byID("fleet-list").replaceChildren();
  }

  /** Updates everything that depends on the time or has changed. It may be called several times a second. */
  refresh(now, stateOf) {
    this.list(now, stateOf);
    const vehicle = this.fleet.selected ?? NONE;
    const { stats, latest } = vehicle;
    setText(byID("vehicle-id"), vehicle.name);
    byID("vehicle-service").hidden = !vehicle.isForTrips;
    byID("vehicle-colour").style.background = vehicle.colour;
    byID("vehicle-colour").classList.toggle("trips", vehicle.isForTrips);
    const state = vehicle === NONE ? "wait" : stateOf(vehicle);
    byID("vehicle-state").dataset.state = state;
    setText(byID("vehicle-state"), state === "drive" && (latest?.speed ?? 1) < 0.7 ? "Standing" : STATES[state]);
    const isStale = latest !== null && isOutOfTouch(state);
    byID("vehicle").classList.toggle("stale", isStale);
    setText(byID("speed"), kmh(latest?.speed));
    setText(byID("fix-age"), age(latest ? now - latest.t : null));
    setText(byID("accuracy"), metres(latest?.accuracy));
    setText(byID("heading"), compass(latest?.heading));
    // The rate is that of the last update; without one in the last minute it is 0.
    setText(byID("rate"), count(now - stats.lastUpdate < 60000 ? stats.updatesPerMinute : 0));
    setText(byID("bytes"), count(stats.bytesPerUpdate));
    setText(byID("past"), count(stats.past));
    this.delays(stats, isStale, now);
    this.token(stats, now);
    this.refusals(stats, now);
  }

  /** Shows how old positions were when they arrived, or, while nothing arrives, for how long this has been so. */
  delays(stats, isStale, now) {
    const delays = Array.isArray(stats.delays) ? stats.delays.filter(isNumber) : [];
    setText(byID("delay"), isStale ? "–" : span(stats.delay));
    const silence = isStale && isNumber(stats.lastUpdate) ? `nothing arrives for ${rest(now - stats.lastUpdate)}` : "";
    setText(byID("delay-most"), silence || (delays.length > 1 ? `up to ${span(Math.max(...delays))}` : ""));
    byID("delay-figure").classList.toggle("stale", isStale);
    const key = delays.join();
    if (key === this.delayKey) return;
    this.delayKey = key;
    if (delays.length < 2) {
      for (const path of this.spark) path.removeAttribute("d");
      return;
    }
    const most = Math.max(500, ...delays);
    const places = delays.map((delay, index) => {
      const x = (index / (delays.length - 1)) * 120;
      return `${x.toFixed(1)} ${(30 - (Math.max(0, delay) / most) * 28).toFixed(1)}`;
    });
    const line = `M${places.join("L")}`;
    this.spark[0].setAttribute("d", `${line}L120 32L0 32Z`);
    this.spark[1].setAttribute("d", line);
  }

  token(stats, now) {
    const { tokenExpires: end, tokenIssued: start } = stats;
    const left = isNumber(end) ? end - now : null;
    setText(byID("token-left"), left === null ? (stats.accepted > 0 ? "from elsewhere" : "none yet") : left > 0 ? rest(left) : "expired");
    setText(byID("token-fetches"), isNumber(stats.tokenFetches) ? several(stats.tokenFetches, "fetch", "fetches") : "");
    const part = left !== null && isNumber(start) && end > start ? Math.min(1, Math.max(0, left / (end - start))) : 0;
    const bar = byID("token-bar");
    const width = `${(part * 100).toFixed(1)}%`;
    if (bar.style.width !== width) bar.style.width = width;
    bar.dataset.state = part > 0.2 ? "good" : "low";
  }

  refusals(stats, now) {
    setText(byID("refused"), count(stats.refused));
    const last = stats.lastRefusal;
    setText(byID("refused-last"), last && isNumber(last.at) ? age(now - last.at) : "");
    const reasons = Object.entries(stats.refusals ?? {}).sort((a, b) => b[1] - a[1]);
    const key = JSON.stringify(reasons);
    if (key === this.refusalKey) return;
    this.refusalKey = key;
    byID("refusals").replaceChildren(...reasons.slice(0, 8).map(([reason, number]) => {
      const item = make("li", "", reason);
      item.append(make("b", "", `×${number}`));
      return item;
    }));
  }

  list(now, stateOf) {
    const { vehicles, selectedID } = this.fleet;
    byID("fleet").hidden = vehicles.size < 2;
    setText(byID("fleet-count"), String(vehicles.size));
    if (vehicles.size < 2) return;
    if (this.rows.size !== vehicles.size) this.addRows();
    this.revealSelected(selectedID);
    for (const [id, row] of this.rowsInView()) {
      const vehicle = vehicles.get(id);
      const state = stateOf(vehicle);
      row.dot.dataset.state = state;
      row.dot.title = STATES[state];
      setText(row.state, state === "drive" ? `${kmh(vehicle.latest?.speed)} km/h` : STATES[state]);
      setText(row.age, vehicle.latest ? age(now - vehicle.latest.t).replace(/ (s|min|h) .*/, " $1") : "–");
    }
  }

  revealSelected(id) {
    const row = this.rows.get(id);
    if (this.pressed === row) return;
    this.pressed?.button.setAttribute("aria-pressed", "false");
    row?.button.setAttribute("aria-pressed", "true");
    this.pressed = row;
    if (row) this.reveal(row.button);
  }

  /** The rows in view, and a few more; all rows of a short list. */
  rowsInView() {
    const rows = [...this.rows];
    if (rows.length <= SHORT) return rows;
    const list = byID("fleet-list");
    const height = rows[0][1].button.offsetHeight || 1;
    const first = Math.max(0, Math.floor(list.scrollTop / height) - 2);
    return rows.slice(first, first + Math.ceil(list.clientHeight / height) + 4);
  }

  /** Scrolls the list, and nothing around it, to one of its rows. */
  reveal(button) {
    const list = byID("fleet-list");
    const [inner, outer] = [button.getBoundingClientRect(), list.getBoundingClientRect()];
    list.scrollTop += Math.min(0, inner.top - outer.top) + Math.max(0, inner.bottom - outer.bottom);
  }

  addRows() {
    this.rows.clear();
    this.pressed = undefined;
    const items = this.fleet.ordered.map((vehicle) => {
      const button = make("button", "row");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      const swatch = make("i", vehicle.isForTrips ? "swatch trips" : "swatch");
      swatch.style.background = vehicle.colour;
      const row = {
        button, dot: make("i", "dot"), state: make("span", "what"), age: make("span", "age"),
      };
      button.append(swatch, make("span", "id", vehicle.name), row.state, row.age, row.dot);
      button.addEventListener("click", () => this.onSelect(vehicle.id));
      this.rows.set(vehicle.id, row);
      const item = make("li");
      item.append(button);
      return item;
    });
    byID("fleet-list").replaceChildren(...items);
  }
}
