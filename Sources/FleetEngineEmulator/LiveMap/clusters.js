// SPDX-License-Identifier: Apache-2.0
// For a large fleet: decides which vehicles in the view have a marker of their own, and which share a cluster.
import { make } from "./format.js";
import { STATES } from "./panel.js";

const L = window.L;
/** Up to this number of vehicles, each has a marker, whether in the view or not. */
export const SEVERAL = 60;
/** With at most this number in the view, clusters become markers again. It is less than SEVERAL, so that markers and clusters do not alternate. */
const CALM = 50;
/** A cluster contains the vehicles in a square of this size: pixels. */
const CELL = 100;
/** The states from the best to the worst, as on the ring of a cluster. */
const RANKS = ["drive", "park", "off", "wait", "silent", "tunnel", "refused"];
const COLOURS = {
  drive: "var(--good)", park: "var(--accent)", off: "var(--quiet)", wait: "var(--quiet)", silent: "var(--warn)", tunnel: "var(--warn)",
  refused: "var(--bad)",
};

/**
 * Distributes the vehicles of a view.
 *
 * @param vehicles those with a position.
 * @param view `{ scale, left, top, right, bottom }`: pixels of the world at zoom 0, and the view in pixels at this zoom.
 * @param selected the vehicle that always has its own marker.
 * @param wasClustered whether the last view had clusters.
 * @returns `singles`: vehicles; `clusters`: a map of arrays of vehicles by the square's name.
 */
export function arrange(vehicles, view, selected, wasClustered) {
  const inView = vehicles.filter(({ latest }) => {
    const x = latest.x * view.scale;
    const y = latest.y * view.scale;
    return x >= view.left && x <= view.right && y >= view.top && y <= view.bottom;
  });
  const singles = selected?.latest ? [selected] : [];
  const clusters = new Map();
  if (inView.length <= (wasClustered ? CALM : SEVERAL)) return { singles: [...singles, ...inView.filter((each) => each !== selected)], clusters };
  for (const vehicle of inView) {
    if (vehicle === selected) continue;
    const square = `${Math.floor((vehicle.latest.x * view.scale) / CELL)} ${Math.floor((vehicle.latest.y * view.scale) / CELL)}`;
    const others = clusters.get(square);
    if (others) others.push(vehicle);
    else clusters.set(square, [vehicle]);
  }
  for (const [square, members] of clusters) {
    if (members.length > 1) continue;
    singles.push(members[0]);
    clusters.delete(square);
  }
  return { singles, clusters };
}

/** The clusters on the map. */
export class Clusters {
  constructor(map) {
    this.map = map;
    this.shown = new Map();
  }

  clear() {
    this.show(new Map(), () => "wait");
  }

  /** Shows these clusters; `stateOf` returns the state of a vehicle. */
  show(clusters, stateOf) {
    for (const [square, each] of this.shown) {
      if (clusters.has(square)) continue;
      each.marker.remove();
      this.shown.delete(square);
    }
    for (const [square, members] of clusters) this.place(square, members, stateOf);
  }

  place(square, members, stateOf) {
    const latitude = members.reduce((sum, { latest }) => sum + latest.lat, 0) / members.length;
    const longitude = members.reduce((sum, { latest }) => sum + latest.lon, 0) / members.length;
    let each = this.shown.get(square);
    if (!each) {
      const ring = make("div", "ring");
      each = { ring, number: make("b") };
      ring.append(each.number);
      each.marker = L.marker([latitude, longitude], { icon: L.divIcon({ html: ring, className: "cluster", iconSize: [56, 56] }) });
      each.marker.on("click", () => this.enter(each.members));
      each.marker.addTo(this.map);
      each.marker.getElement().setAttribute("role", "button");
      this.shown.set(square, each);
    }
    each.members = members;
    each.marker.setLatLng([latitude, longitude]);
    const counts = new Map();
    for (const vehicle of members) counts.set(stateOf(vehicle), (counts.get(stateOf(vehicle)) ?? 0) + 1);
    const states = RANKS.filter((state) => counts.has(state));
    const label = `${members.length} vehicles: ${states.map((state) => `${counts.get(state)} ${STATES[state].toLowerCase()}`).join(", ")}`;
    if (label === each.label) return;
    each.label = label;
    each.marker.getElement().setAttribute("aria-label", label);
    each.number.textContent = String(members.length);
    const size = Math.min(56, 30 + 9 * Math.log10(members.length));
    each.ring.style.width = each.ring.style.height = `${size.toFixed(0)}px`;
    let share = 0;
    each.ring.style.background = `conic-gradient(${states.map((state) => {
      const from = share;
      share += (counts.get(state) / members.length) * 100;
      return `${COLOURS[state]} ${from.toFixed(1)}% ${share.toFixed(1)}%`;
    }).join(", ")})`;
  }

  /** Zooms in on the members of a cluster. */
  enter(members) {
    const bounds = L.latLngBounds(members.map(({ latest }) => [latest.lat, latest.lon]));
    const zoom = Math.max(this.map.getBoundsZoom(bounds.pad(0.1)), this.map.getZoom() + 1);
    this.map.setView(bounds.getCenter(), Math.min(zoom, this.map.getMaxZoom()));
  }
}
