// SPDX-License-Identifier: Apache-2.0
// The state of the vehicles, without access to the page.
import { isNumber } from "./format.js";

/** Maximum points of one track, and of all; when it is exceeded, the older half is thinned. */
const MOST_POINTS = 4000;
const MOST_OF_ALL = 400000;
/** Delays that the panel shows. */
const MOST_DELAYS = 60;
/** A stretch counts as a gap if it takes longer than the usual time between updates by this factor. */
const GAP_FACTOR = 2.5;
const SHORTEST_GAP = 12000;
/** Metres: a vehicle that has moved less may be silent without a gap. */
const GAP_DISTANCE = 40;
/** How long back-filled points light up, and within what time they appear one after another: milliseconds. */
export const GLOW = 6000;
const REVEAL = 2600;

const HUES = ["#2f6fed", "#e2622a", "#0d9b76", "#9a5bdc", "#c9930a", "#d8447f", "#1796b8", "#7c8a1e", "#a8643a", "#5b6abf"];

const RADIUS = 6378137;

/** The Mercator plane at zoom 0: 256 pixels wide, so that a redraw only has to scale. */
export function project(latitude, longitude) {
  const sine = Math.sin((latitude * Math.PI) / 180);
  return [
    ((longitude + 180) / 360) * 256,
    128 - (Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)) * 256,
  ];
}

function distance(a, b) {
  const north = ((b.lat - a.lat) * Math.PI) / 180;
  const east = (((b.lon - a.lon) * Math.PI) / 180) * Math.cos((a.lat * Math.PI) / 180);
  return RADIUS * Math.hypot(north, east);
}

/** A point of a track, or null for an invalid position. */
function point(position) {
  if (!position || !isNumber(position.lat) || !isNumber(position.lon) || !isNumber(position.t)) return null;
  if (Math.abs(position.lat) > 85 || Math.abs(position.lon) > 180) return null;
  const [x, y] = project(position.lat, position.lon);
  const optional = (value) => (isNumber(value) ? value : null);
  return {
    t: position.t, lat: position.lat, lon: position.lon, x, y,
    speed: optional(position.speed), heading: optional(position.heading), accuracy: optional(position.accuracy),
    past: position.past === true, gap: false, shown: 0,
  };
}

/** The prefix of the IDs of on-demand trips' vehicles. */
const TRIPS = "trips/";

/** The vehicle's ID without the prefix; a vehicle of the other service may have the same. */
export function nameOf(id) {
  const text = String(id ?? "");
  return text.startsWith(TRIPS) ? text.slice(TRIPS.length) : text;
}

export class Vehicle {
  constructor(id, index) {
    this.id = id;
    this.name = nameOf(id);
    this.isForTrips = id.startsWith(TRIPS);
    // Beyond the palette, the golden angle gives neighbours different colours.
    this.colour = HUES[index] ?? `hsl(${Math.round(index * 137.5) % 360} 55% 46%)`;
    this.track = [];
    /** The last live position; its time need not be the newest. */
    this.live = null;
    this.stats = {};
    this.interval = 5000;
    /** When the newest live position arrived, by the server's clock. */
    this.located = 0;
    this.lit = 0;
  }

  get latest() {
    return this.live ?? this.track[this.track.length - 1] ?? null;
  }

  load(data) {
    this.stats = data.stats ?? {};
    this.track = (Array.isArray(data.track) ? data.track : []).map(point).filter(Boolean).sort((a, b) => a.t - b.t);
    this.insertLive(data.position);
    this.learnInterval();
    this.track.forEach((_, index) => this.markGap(index));
    this.prune(MOST_POINTS);
  }

  /** Adds an update; `now` is performance.now(). Returns the number of new points in pastLocations. */
  update(data, now, animated, most = MOST_POINTS) {
    this.learn(data.stats);
    if (data.position && isNumber(this.stats.delay)) this.stats.delays = [...(this.stats.delays ?? []), this.stats.delay].slice(-MOST_DELAYS);
    const past = (Array.isArray(data.past) ? data.past : []).map(point).filter(Boolean);
    let filled = 0;
    past.forEach((each, index) => {
      each.past = true;
      if (animated) each.shown = now + (REVEAL * (index + 1)) / past.length;
      this.lit = Math.max(this.lit, (each.shown || now) + GLOW);
      filled += this.insert(each);
    });
    this.insertLive(data.position);
    this.learnInterval();
    this.prune(most);
    return filled;
  }

  /** Updates figures that have changed. */
  learn(stats) {
    if (stats && typeof stats === "object") this.stats = { ...this.stats, ...stats };
  }

  insertLive(position) {
    const live = point(position);
    if (!live) return;
    this.insert(live);
    this.live = live;
    if (isNumber(position.received)) this.located = position.received;
  }

  /** Returns 1 if its time is new. */
  insert(added) {
    let index = this.track.length;
    let isNew = 1;
    while (index > 0 && this.track[index - 1].t > added.t) index -= 1;
    // A point with the same time: the newer report replaces it.
    if (index > 0 && this.track[index - 1].t === added.t) {
      const known = this.track[index - 1];
      added.past = added.past && known.past;
      this.track[index - 1] = added;
      index -= 1;
      isNew = 0;
    } else {
      this.track.splice(index, 0, added);
    }
    this.markGap(index);
    this.markGap(index + 1);
    return isNew;
  }

  markGap(index) {
    const here = this.track[index];
    const before = this.track[index - 1];
    if (!here) return;
    here.gap = before !== undefined
      && here.t - before.t > Math.max(SHORTEST_GAP, GAP_FACTOR * this.interval) && distance(before, here) > GAP_DISTANCE;
  }

  learnInterval() {
    const recent = this.track.slice(-20).filter((each) => !each.past);
    const steps = [];
    for (let i = 1; i < recent.length; i += 1) steps.push(recent[i].t - recent[i - 1].t);
    steps.sort((a, b) => a - b);
    if (steps.length > 2) this.interval = Math.min(120000, Math.max(1000, steps[steps.length >> 1]));
  }

  prune(most) {
    if (this.track.length <= most) return;
    const half = this.track.length >> 1;
    let lostGap = false;
    this.track = this.track.filter((each, index) => {
      if (index > 0 && index < half && index % 2 === 1) {
        lostGap ||= each.gap;
        return false;
      }
      each.gap ||= lostGap;
      lostGap = false;
      return true;
    });
  }

  /** Its last update was OFFLINE without a position. One that continues to report is finishing a trip, and is not off duty. */
  get isOffDuty() {
    return this.stats.state === "OFFLINE" && this.stats.lastUpdate > this.located;
  }

  /** One of wait, drive, park, silent, refused, tunnel, off; `now` by the server's clock. */
  state(now, faults) {
    if (this.isOffDuty) return "off";
    const { lastUpdate, lastRefusal } = this.stats;
    if (lastRefusal && !(lastUpdate >= lastRefusal.at)) return lastRefusal.status > 0 ? "refused" : "tunnel";
    if (!isNumber(lastUpdate)) return "wait";
    const silence = now - lastUpdate;
    if (faults.some((fault) => fault.name === "tunnel" && (!fault.vehicle || fault.vehicle === this.name))) return "tunnel";
    if (silence > Math.max(75000, 3 * this.interval)) return "silent";
    // A standing vehicle may be parked, and then sends only every 50 s. So does one without reception: it repeats its
    // last position.
    const standing = this.standingSince();
    if (standing !== null) return now - standing > 20000 ? "park" : "drive";
    const usual = Math.max(16000, 3.2 * this.interval);
    return silence > usual && !(lastUpdate - this.latest?.t > usual) ? "silent" : "drive";
  }

  /** Since when it stands, by its positions; null if it does not. A single position without a speed does not count. */
  standingSince() {
    const last = this.latest;
    let since = null;
    for (let i = this.track.lastIndexOf(last); i >= 0; i -= 1) {
      const each = this.track[i];
      if (distance(each, last) > 25 || (each.speed ?? 0) > 0.7) break;
      if (each !== last || each.speed !== null) since = each.t;
    }
    return since;
  }
}

export class Fleet {
  constructor() {
    this.vehicles = new Map();
    this.faults = [];
    this.selectedID = null;
    /** Milliseconds by which the server's clock is ahead of this one. */
    this.skew = 0;
    this.fastest = 0;
  }

  get now() {
    return Date.now() + this.skew;
  }

  get selected() {
    return this.vehicles.get(this.selectedID) ?? null;
  }

  load(state) {
    if (isNumber(state.now)) this.skew = state.now - Date.now();
    this.vehicles.clear();
    this.fastest = 0;
    for (const id of Object.keys(state.vehicles ?? {}).sort((a, b) => inNaturalOrder(nameOf(a), nameOf(b)))) {
      const vehicle = this.vehicle(id);
      vehicle.load(state.vehicles[id] ?? {});
      for (const each of vehicle.track) this.fastest = Math.max(this.fastest, each.speed ?? 0);
    }
    this.setFaults(state.faults);
    if (!this.selected) this.selectedID = this.vehicles.keys().next().value ?? null;
  }

  setFaults(faults) {
    this.faults = (Array.isArray(faults) ? faults : []).filter((fault) => fault && typeof fault === "object");
  }

  /** The vehicle with this name, which is created if it is new. */
  vehicle(id) {
    let vehicle = this.vehicles.get(id);
    if (!vehicle) {
      vehicle = new Vehicle(id, this.vehicles.size);
      this.vehicles.set(id, vehicle);
      this.selectedID ??= id;
    }
    return vehicle;
  }

  /** In the order of the list. */
  get ordered() {
    return [...this.vehicles.values()].sort((a, b) => inNaturalOrder(a.name, b.name));
  }

  /** Whether there are vehicles of both services, so that they must be distinguished. */
  get isMixed() {
    let trips = 0;
    for (const vehicle of this.vehicles.values()) trips += vehicle.isForTrips;
    return trips > 0 && trips < this.vehicles.size;
  }

  /** Maximum points of one vehicle's track. */
  get mostPoints() {
    return Math.max(100, Math.min(MOST_POINTS, Math.floor(MOST_OF_ALL / this.vehicles.size)));
  }

  /** The top of the colour scale in km/h: town, or road. */
  get topSpeed() {
    return this.fastest * 3.6 > 66 ? 130 : 60;
  }
}

/** Whether a vehicle in this state has been silent for longer than usual, so that its figures are outdated. */
export const isOutOfTouch = (state) => ["silent", "refused", "tunnel", "off"].includes(state);

const inNaturalOrder = (a, b) => a.localeCompare(b, "en", { numeric: true });
