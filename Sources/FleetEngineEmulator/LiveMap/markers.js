// SPDX-License-Identifier: Apache-2.0
// The vehicles themselves: heading, accuracy, state and, if there are several, their names.
import { make, makeSVG, prefersStillness } from "./format.js";

const L = window.L;
/** How long a vehicle glides to its next place: milliseconds. */
const GLIDE = 900;
/** Of more vehicles only the selected one shows its accuracy: many circles would be all that is seen. */
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
    // The short way round.
    this.turn += ((((heading - this.turn) % 360) + 540) % 360) - 180;
    this.arrow.style.transform = `rotate(${this.turn}deg)`;
  }

  /** Goes where the vehicle is now; returns whether it glides there. */
  move(now) {
    const { lat, lon, heading, accuracy } = this.vehicle.latest;
    const from = this.marker.getLatLng();
    if (accuracy !== null) this.circle.setRadius(Math.min(accuracy, 100000));
    // Who stands has no heading: the last one is still how the vehicle stands there.
    if (heading !== null) this.head(heading);
    const isFar = this.map.project(from, 12).distanceTo(this.map.project([lat, lon], 12)) > 60;
    if (prefersStillness() || document.hidden || isFar) {
      this.glide = null;
      this.place([lat, lon]);
    } else if (from.lat !== lat || from.lng !== lon) {
      this.glide = { from, lat, lon, start: now };
    }
    return this.glide !== null;
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
    map.createPane("accuracy").style.zIndex = 390;
  }

  clear() {
    for (const marker of this.markers.values()) marker.remove();
    this.markers.clear();
  }

  /** Brings one vehicle where it is; returns whether the next frames are needed. */
  move(vehicle, now) {
    if (!vehicle.latest) return false;
    let marker = this.markers.get(vehicle.id);
    if (!marker) {
      marker = new Marker(this.map, vehicle, this.onSelect);
      this.markers.set(vehicle.id, marker);
    }
    return marker.move(now);
  }

  step(now) {
    let isMoving = false;
    for (const marker of this.markers.values()) isMoving = marker.step(now) || isMoving;
    return isMoving;
  }

  /** Leaves out the names that would lie upon others; the selected vehicle's is always there. */
  declutter() {
    if (this.markers.size < 2) return;
    const taken = [];
    const inOrder = [...this.markers.values()].sort((a, b) => b.isSelected - a.isSelected);
    for (const marker of inOrder) {
      const place = this.map.latLngToLayerPoint(marker.marker.getLatLng());
      const width = 16 + 7 * marker.vehicle.name.length;
      const isFree = taken.every((other) => Math.abs(other.y - place.y) > 20 || Math.abs(other.x - place.x) > width);
      if (isFree) taken.push(place);
      marker.element.classList.toggle("named", isFree);
    }
  }

  describe(id, state, words) {
    const isSelected = id === this.fleet.selectedID;
    const hasCircle = state !== "off" && (isSelected || this.markers.size <= FEW);
    this.markers.get(id)?.describe(state, words, isSelected, hasCircle);
  }
}
