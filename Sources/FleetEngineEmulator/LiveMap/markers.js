// SPDX-License-Identifier: Apache-2.0
// The markers of the vehicles: heading, accuracy, state and, if there are several, their names.
import { arrange, Clusters, SEVERAL } from "./clusters.js";
import { make, makeSVG, prefersStillness } from "./format.js";

const L = window.L;
/** How long a vehicle glides to its next position: milliseconds. */
const GLIDE = 900;
/** With more vehicles than this, only the selected one shows its accuracy, because many circles would cover the map. */
const FEW = 6;

class Marker {
  constructor(map, vehicle, onSelect) {
    this.map = map;
    this.vehicle = vehicle;
    this.turn = 0;
    this.glide = null;
    this.arrow = makeSVG("g", { class: "arrow" }, makeSVG("path", { d: "M22 7l11.5 28L22 28.5 10.5 35z" }));
    this.dot = makeSVG("g", { class: "dot" }, makeSVG("circle", { cx: 22, cy: 22, r: 11 }));
    const letter = makeSVG("text", { x: 22, y: 26.5 });
    letter.textContent = "P";
    this.dot.append(letter);
    this.letter = letter;
    const plates = vehicle.isForTrips ? [makeSVG("circle", { class: "plate", cx: 22, cy: 22, r: 20 })] : [];
    this.drawing = makeSVG("svg", { viewBox: "0 0 44 44", "aria-hidden": "true" }, ...plates, this.arrow, this.dot);
    this.drawing.style.color = vehicle.colour;
    this.label = make("span", "name", vehicle.name);
    const body = make("div", "body");
    body.append(make("i", "pulse"), this.drawing, this.label);
    const place = [vehicle.latest.lat, vehicle.latest.lon];
    this.circle = L.circle(place, { radius: 0, weight: 1, opacity: 0.5, fillOpacity: 0.12, interactive: false, pane: "accuracy", color: vehicle.colour });
    this.marker = L.marker(place, { icon: L.divIcon({ html: body, className: "vehicle", iconSize: [44, 44] }), riseOnHover: true });
    this.marker.on("click", () => onSelect(vehicle.id));
    this.marker.addTo(map);
    this.element = this.marker.getElement();
    this.element.setAttribute("role", "button");
    this.element.setAttribute("data-blunt", "");
    const known = vehicle.track.findLast((each) => each.heading !== null);
    if (known) this.head(known.heading);
  }

  place(latlng) {
    this.marker.setLatLng(latlng);
    this.circle.setLatLng(latlng);
  }

  head(heading) {
    this.element.removeAttribute("data-blunt");
    // The smaller of the two rotations.
    this.turn += ((((heading - this.turn) % 360) + 540) % 360) - 180;
    this.arrow.style.transform = `rotate(${this.turn}deg)`;
  }

  /** Moves the marker to the vehicle's position, gliding if it is near. */
  move(now) {
    const { lat, lon, heading, accuracy } = this.vehicle.latest;
    const from = this.marker.getLatLng();
    if (accuracy !== null) this.circle.setRadius(Math.min(accuracy, 100000));
    // A stationary vehicle reports no heading; it still has the last one.
    if (heading !== null) this.head(heading);
    const isFar = this.map.project(from, 12).distanceTo(this.map.project([lat, lon], 12)) > 60;
    if (prefersStillness() || document.hidden || isFar) {
      this.glide = null;
      this.place([lat, lon]);
    } else if (from.lat !== lat || from.lng !== lon) {
      this.glide = { from, lat, lon, start: now };
    }
  }

  step(now) {
    if (!this.glide) return false;
    const { from, lat, lon, start } = this.glide;
    const part = Math.min(1, (now - start) / GLIDE);
    const eased = part * (2 - part);
    this.place([from.lat + (lat - from.lat) * eased, from.lng + (lon - from.lng) * eased]);
    if (part === 1) this.glide = null;
    return part < 1;
  }

  describe(state, words, isSelected, hasCircle) {
    this.isSelected = isSelected;
    if (hasCircle !== this.map.hasLayer(this.circle)) this.map[hasCircle ? "addLayer" : "removeLayer"](this.circle);
    if (this.element.dataset.state !== state) {
      this.element.dataset.state = state;
      this.letter.textContent = state === "off" ? "–" : "P";
    }
    this.element.classList.toggle("selected", isSelected);
    this.marker.setZIndexOffset(isSelected ? 1000 : 0);
    const label = `${this.vehicle.name}${this.vehicle.isForTrips ? ", trips" : ""}: ${words}`;
    if (this.element.getAttribute("aria-label") !== label) this.element.setAttribute("aria-label", label);
  }

  remove() {
    this.marker.remove();
    this.circle.remove();
  }
}

export class Markers {
  constructor(map, fleet, onSelect) {
    this.map = map;
    this.fleet = fleet;
    this.onSelect = onSelect;
    this.markers = new Map();
    this.clusters = new Clusters(map);
    map.createPane("accuracy").style.zIndex = 390;
  }

  /** Whether only some of the vehicles in the view have a marker. */
  get areFew() {
    return this.fleet.vehicles.size > SEVERAL;
  }

  get ids() {
    return this.markers.keys();
  }

  has(id) {
    return this.markers.has(id);
  }

  clear() {
    this.clusters.clear();
    for (const marker of this.markers.values()) marker.remove();
    this.markers.clear();
  }

  /** Moves one vehicle's marker to its position. */
  move(vehicle, now) {
    if (!vehicle.latest) return;
    if (!this.areFew) this.marker(vehicle);
    this.markers.get(vehicle.id)?.move(now);
  }

  marker(vehicle) {
    if (!this.markers.has(vehicle.id)) this.markers.set(vehicle.id, new Marker(this.map, vehicle, this.onSelect));
  }

  /** For a large fleet: decides which vehicles have markers; `stateOf` returns the state of a vehicle. */
  arrange(stateOf) {
    this.map.getContainer().classList.toggle("large-fleet", this.areFew);
    if (!this.areFew) return;
    const bounds = this.map.getPixelBounds();
    const margin = 60;
    const { singles, clusters } = arrange([...this.fleet.vehicles.values()].filter((each) => each.latest), {
      scale: 2 ** this.map.getZoom(),
      left: bounds.min.x - margin, top: bounds.min.y - margin, right: bounds.max.x + margin, bottom: bounds.max.y + margin,
    }, this.fleet.selected, this.clusters.shown.size > 0);
    const wanted = new Set(singles.map((each) => each.id));
    for (const [id, marker] of this.markers) {
      if (wanted.has(id)) continue;
      marker.remove();
      this.markers.delete(id);
    }
    for (const vehicle of singles) this.marker(vehicle);
    this.clusters.show(clusters, stateOf);
  }

  step(now) {
    let isMoving = false;
    for (const marker of this.markers.values()) isMoving = marker.step(now) || isMoving;
    return isMoving;
  }

  /** Hides names that would overlap others, and all names if there are clusters; the selected vehicle's is always shown. */
  declutter() {
    if (this.fleet.vehicles.size < 2) return;
    const named = [];
    const inOrder = [...this.markers.values()].sort((a, b) => b.isSelected - a.isSelected);
    for (const marker of inOrder) {
      const place = this.map.latLngToLayerPoint(marker.marker.getLatLng());
      const width = 16 + 7 * marker.vehicle.name.length;
      const isFree = marker.isSelected || (this.clusters.shown.size === 0 && named.every((other) => Math.abs(other.y - place.y) > 20 || Math.abs(other.x - place.x) > width));
      if (isFree) named.push(place);
      marker.element.classList.toggle("named", isFree);
    }
  }

  describe(id, state, words) {
    const isSelected = id === this.fleet.selectedID;
    const hasCircle = state !== "off" && (isSelected || this.fleet.vehicles.size <= FEW);
    this.markers.get(id)?.describe(state, words, isSelected, hasCircle);
  }
}
