// SPDX-License-Identifier: Apache-2.0
// The buttons that inject faults, each with the time left.
import { byID, icon, isNumber, make, setText, several } from "./format.js";

/** Name, title, note, and what to expect. */
const TROUBLES = [
  ["tunnel", "Tunnel", "30 s", "No network for 30 s. The positions are queued, and sent when the network is back: the gap in the track fills in."],
  ["slow", "Slow network", "30 s", "Every response is 3 s late, for 30 s. Only one request is in flight at a time, always with the newest position."],
  ["unavailable", "503", "30 s", "Fleet Engine is unavailable for 30 s. The waits between attempts grow, and no position is lost."],
  ["throttled", "429", "20 s", "Fleet Engine answers that there are too many requests, and to retry after 10 s. No request is sent before that."],
  ["tokens-down", "Tokens down", "60 s", "The token provider fails for 60 s. This has no effect while the current token is valid: revoke it as well."],
  ["revoke", "Revoke token", "once", "Fleet Engine rejects every token issued so far. A new one is fetched at once, and the rejected position is sent again."],
  ["expire", "Expire token", "once", "The token is rejected as expired. A new one is fetched at once, and the rejected position is sent again."],
  ["clear", "All clear", "ends all", "Every fault ends."],
];
/** How long a button without a duration is highlighted: milliseconds. */
const FLASH = 3000;

export const titleOf = (name) => TROUBLES.find((each) => each[0] === name)?.[1] ?? name;

export class FaultButtons {
  constructor(fleet, onFailure) {
    this.fleet = fleet;
    this.onFailure = onFailure;
    this.tiles = new Map();
    this.lengths = new Map();
    TROUBLES.forEach(([name, title, note, hint], index) => {
      const key = name === "clear" ? "0" : String(index + 1);
      const button = make("button", "tile");
      button.type = "button";
      button.dataset.act = name;
      button.title = `${hint} (${key})`;
      button.setAttribute("aria-describedby", "faults-hint");
      const words = make("span", "words");
      const tile = { button, note: make("small", "", note), idle: note, bar: make("i", "rest"), flash: 0 };
      words.append(make("b", "", title), tile.note);
      button.append(icon(name), words, tile.bar);
      for (const event of ["focus", "pointerenter", "click"]) {
        button.addEventListener(event, () => setText(byID("faults-hint"), hint));
      }
      button.addEventListener("click", () => this.act(name));
      this.tiles.set(name, tile);
    });
    byID("tiles").append(...[...this.tiles.values()].map((tile) => tile.button));
  }

  press(key) {
    const name = key === "0" ? "clear" : TROUBLES[Number(key) - 1]?.[0];
    if (name) this.tiles.get(name).button.click();
  }

  async act(name) {
    const body = { act: name };
    if (name !== "clear" && this.fleet.vehicles.size > 1 && byID("only-box").checked) body.vehicle = this.fleet.selected.name;
    try {
      const answer = await fetch("/map/act", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
      });
      const result = await answer.json().catch(() => ({}));
      if (!answer.ok) throw new Error(result.error?.message ?? `the emulator answered ${answer.status}`);
      const tile = this.tiles.get(name);
      if (tile.idle === "once" || name === "clear") tile.flash = performance.now() + FLASH;
    } catch (error) {
      this.onFailure(`${titleOf(name)} could not be done: ${error.message}`);
    }
  }

  /** Shows the remaining time of each button; `now` is the server's time. */
  refresh(now) {
    const { vehicles, selected } = this.fleet;
    byID("only").hidden = vehicles.size < 2;
    setText(byID("only-id"), selected?.name ?? "");
    const known = new Set();
    for (const [name, tile] of this.tiles) {
      const own = this.fleet.faults.filter((fault) => fault.name === name);
      const timed = own.filter((fault) => isNumber(fault.ends));
      const last = timed.reduce((latest, fault) => (latest?.ends >= fault.ends ? latest : fault), null);
      let note = tile.idle;
      let part = 0;
      if (last) {
        const key = `${name} ${last.id}`;
        known.add(key);
        const left = Math.max(0, last.ends - now);
        if (!this.lengths.has(key)) this.lengths.set(key, Math.max(left, 1));
        part = left / this.lengths.get(key);
        note = `${Math.ceil(left / 1000)} s left`;
      } else if (own.length > 0) {
        part = 1;
        const times = own.reduce((sum, fault) => sum + (fault.times ?? 0), 0);
        note = times > 0 ? `${several(times, "request", "requests")} more` : "lasts";
      } else if (tile.flash > performance.now()) {
        note = "done";
      }
      setText(tile.note, note);
      tile.button.classList.toggle("active", own.length > 0);
      tile.button.classList.toggle("done", note === "done");
      tile.bar.style.width = `${(part * 100).toFixed(1)}%`;
    }
    for (const key of this.lengths.keys()) if (!known.has(key)) this.lengths.delete(key);
  }
}
