// SPDX-License-Identifier: Apache-2.0
// The list "What happens": how the daemon reacts to each fault; and the list of the terminal's lines.
import { byID, clockTime, isNumber, make, rest, setText, several, span } from "./format.js";
import { nameOf } from "./model.js";
import { titleOf } from "./faults.js";

/** Maximum entries of each list. */
const MOST = 120;
const ASKING = "Token request: ";

export class Story {
  constructor(fleet) {
    this.fleet = fleet;
    this.list = byID("story-list");
    this.lines = byID("line-list");
    this.troubles = new Map();
    this.lastInfo = null;
  }

  load(state) {
    this.troubles.clear();
    this.list.replaceChildren();
    this.lines.replaceChildren();
    this.lastInfo = null;
    const entries = (list) => (Array.isArray(list) ? list : []).filter((each) => each && typeof each === "object");
    for (const line of entries(state.log)) this.line(line);
    for (const entry of entries(state.story)) this.replay(entry);
  }

  /** What happened before the page was opened. */
  replay(entry) {
    if (entry.name === "refused") this.refused(entry);
    else if (entry.name === "token") this.token(entry);
    else if (entry.name === "log") this.happening(entry);
    else if (entry.name === "update") {
      if (entry.state !== undefined) this.duty(entry.vehicle, entry.state, entry.at);
      this.updated(entry.vehicle, entry.filled, entry.at);
    }
  }

  /** The line without the vehicle, which is shown before it. */
  bare(line) {
    const text = String(line.text ?? "");
    const name = nameOf(line.vehicle);
    const own = name && text.startsWith(name) ? text.slice(name.length).trim() : text;
    const [, trouble, what] = line.kind === "fault" ? own.match(/^([a-z-]+)(, over| for \d+ s)/) ?? [] : [];
    const sentence = trouble ? titleOf(trouble) + what.replace(",", " is") : own;
    return sentence.charAt(0).toUpperCase() + sentence.slice(1);
  }

  /** A line of the terminal. */
  line(line) {
    this.add(this.lines, line.kind, "", String(line.text ?? ""), line.at);
  }

  /** A line that is part of the story; updates, rejections and tokens have messages of their own. */
  happening(line) {
    if (line.kind === "fault") this.report("fault", line.vehicle, this.bare(line), line.at);
    if (line.kind === "info") this.info(line);
  }

  add(list, kind, vehicle, text, at) {
    const item = make("li");
    item.dataset.kind = kind;
    const words = make("span", "text", text);
    item.append(make("time", "", clockTime(at)), make("i"));
    if (vehicle && this.fleet.vehicles.size > 1) item.append(make("b", "", nameOf(vehicle)));
    item.append(words);
    list.prepend(item);
    while (list.childElementCount > MOST) list.lastElementChild.remove();
    return words;
  }

  /** Repeated equal lines are one entry. */
  info(line) {
    const text = this.bare(line);
    const last = this.lastInfo;
    if (last?.vehicle === line.vehicle && last.text === text && this.list.firstElementChild?.contains(last.words)) {
      last.number += 1;
      setText(last.words, `${text} ×${last.number}`);
    } else {
      this.lastInfo = { vehicle: line.vehicle, text, number: 1, words: this.report("info", line.vehicle, text, line.at) };
    }
  }

  report(kind, vehicle, text, at) {
    return this.add(this.list, kind, vehicle, text, at);
  }

  /** Successive equal rejections are one entry, with the waits between them. */
  refused({ vehicle, status, reason, message, at }, subject = "") {
    const what = subject + (status > 0 ? `${status} ${reason}` : "No response");
    const key = subject + vehicle;
    const trouble = this.troubles.get(key) ?? { since: at };
    this.troubles.set(key, trouble);
    if (trouble.what !== what) {
      trouble.what = what;
      trouble.same = 0;
      trouble.pauses = [];
      const why = status > 0 ? message : reason === "reset" ? "the connection was reset" : "no response was sent";
      trouble.text = why ? `${what}: ${why}` : what;
      trouble.words = this.report("refused", vehicle, trouble.text, at);
    } else {
      trouble.pauses = [...trouble.pauses, span(at - trouble.last)].slice(-6);
      const pauses = trouble.pauses.join(", ");
      const more = trouble.same > 6 ? "… " : "";
      setText(trouble.words, `${trouble.text} ×${trouble.same + 1}, tried again after ${more}${pauses}`);
    }
    trouble.same += 1;
    trouble.last = at;
  }

  /** An accepted update; it is reported only if it ends a failure or has past positions. */
  updated(id, filled, at) {
    const trouble = this.troubles.get(id);
    this.troubles.delete(id);
    const positions = filled > 0 ? `${several(filled, "past position", "past positions")} delivered` : "";
    if (trouble) {
      const back = `Accepted again after ${span(at - trouble.since)}`;
      this.report("accepted", id, positions ? `${back}, ${positions}` : back, at);
    } else if (positions) {
      this.report("accepted", id, positions[0].toUpperCase() + positions.slice(1), at);
    }
  }

  /** A vehicle of on-demand trips has changed its state. */
  duty(id, state, at) {
    this.report("info", id, state === "ONLINE" ? "On duty: ONLINE" : state === "OFFLINE" ? "Off duty: OFFLINE" : "State unknown", at);
  }

  token(data) {
    const { vehicle, expires, at } = data;
    if (expires === null) {
      this.refused(data, ASKING);
      return;
    }
    this.troubles.delete(ASKING + vehicle);
    const left = isNumber(expires) ? `, valid for ${rest(expires - at)}` : "";
    this.report("token", vehicle, `New token${left}`, at);
  }

  showLines(isShown) {
    this.lines.hidden = !isShown;
    this.list.hidden = isShown;
  }
}
