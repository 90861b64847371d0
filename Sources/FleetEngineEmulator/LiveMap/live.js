// SPDX-License-Identifier: Apache-2.0
// The page as a whole: distributes the emulator's server-sent events to the parts of the page.
import { GridLayer } from "./canvas.js";
import { Controls } from "./controls.js";
import { byID, isNumber, prefersStillness, setText } from "./format.js";
import { Markers } from "./markers.js";
import { Fleet } from "./model.js";
import { Panel, STATES } from "./panel.js";
import { FaultButtons } from "./faults.js";
import { RouteLayer } from "./route.js";
import { Story } from "./story.js";
import { TrackLayer } from "./tracks.js";

const L = window.L;
/** Interval at which counters are updated, and minimum interval at which tracks are redrawn: milliseconds. */
const TICK = 250;
/** The same for the tracks of vehicles that are not selected, and for the points that light up on them. */
const SLOW_TICK = 1000;
const GLOW_TICK = 100;
/** Wait before a rejected connection is retried: milliseconds. */
const RETRY = 2000;
/** Up to this number of vehicles a new one is shown at once, otherwise with the next tick. */
const FEW = 6;

export class LiveMap {
  constructor(config) {
    this.fleet = new Fleet();
    this.isTouched = false;
    this.follows = false;
    this.lastDraw = 0;
    this.lastDrawOfOthers = 0;
    this.isStale = true;
    this.areOthersStale = true;
    this.hasNew = false;
    this.lastArranged = 0;
    const select = (id) => this.select(id);
    this.panel = new Panel(this.fleet, select);
    this.faultButtons = new FaultButtons(this.fleet, (message) => this.notice(message, 6000));
    this.story = new Story(this.fleet);
    const hasTiles = typeof config.tiles?.url === "string";
    this.map = L.map("map", {
      zoomControl: false, attributionControl: false, zoomSnap: hasTiles ? 1 : 0.25, zoomDelta: hasTiles ? 1 : 0.75,
      maxZoom: 20, minZoom: 2, fadeAnimation: !prefersStillness(), zoomAnimation: !prefersStillness(),
      center: [20, 0], zoom: 2,
    });
    for (const [name, height] of [["ground", 150], ["route", 360], ["others", 370], ["tracks", 380]]) this.map.createPane(name).style.zIndex = height;
    if (hasTiles) {
      this.tiles = L.tileLayer(config.tiles.url, { maxZoom: 20, maxNativeZoom: 19 });
      byID("tile-credit").hidden = false;
      setText(byID("tile-credit"), String(config.tiles.attribution ?? ""));
    } else {
      this.grid = new GridLayer({ pane: "ground" }).addTo(this.map);
    }
    if (Array.isArray(config.route) && config.route.length > 1) {
      this.route = new RouteLayer(config.route, { pane: "route" }).addTo(this.map);
    }
    byID("key-route").hidden = !this.route;
    this.others = new TrackLayer(this.fleet, {
      pane: "others", isSelected: false, shows: (vehicle) => !this.markers.areFew || this.markers.has(vehicle.id),
    });
    this.tracks = new TrackLayer(this.fleet, { pane: "tracks" }).addTo(this.map);
    this.markers = new Markers(this.map, this.fleet, select);
    this.others.addTo(this.map);
    L.control.scale({ imperial: false, maxWidth: 140 }).addTo(this.map);
    this.map.on("dragstart", () => {
      this.isTouched = true;
      this.setFollow(false);
    });
    this.map.on("zoomend moveend", () => this.arrange());
    byID("map").addEventListener("wheel", () => { this.isTouched = true; }, { passive: true });
    new ResizeObserver(() => {
      this.map.invalidateSize({ animate: false });
      this.keepInView(false);
    }).observe(byID("map"));
    this.controls = new Controls(this);
    this.connect();
    setInterval(() => this.tick(), TICK);
  }

  // Messages from the emulator

  connect() {
    const source = new EventSource("/map/events");
    source.addEventListener("open", () => this.setLink("live"));
    source.addEventListener("error", () => {
      if (byID("link").dataset.state !== "lost") this.setLink("lost");
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(() => this.connect(), RETRY);
      // If the emulator answers otherwise, it serves no more pages.
      fetch("/map/config").then((answer) => {
        if (answer.ok && source.readyState === EventSource.CLOSED && byID("link").dataset.state === "lost") {
          this.notice("32 pages are open already; close one. Trying again.", 0);
        }
      }, () => {});
    });
    for (const name of ["state", "update", "refused", "token", "faults", "log"]) {
      source.addEventListener(name, (event) => {
        let data;
        try {
          data = JSON.parse(event.data);
        } catch {
          return;
        }
        if (data && typeof data === "object") this[`on_${name}`](data);
      });
    }
  }

  on_state(state) {
    const isFirst = this.fleet.vehicles.size === 0;
    this.fleet.load(state);
    this.markers.clear();
    this.panel.clear();
    this.story.load(state);
    for (const vehicle of this.fleet.vehicles.values()) this.markers.move(vehicle, performance.now());
    if (isFirst) this.begin();
    this.showTiles();
    this.lastArranged = 0;
    this.drawSoon();
  }

  on_update(data) {
    if (typeof data.vehicle !== "string") return;
    const isNew = this.fleet.vehicles.get(data.vehicle)?.latest == null;
    const vehicle = this.fleet.vehicle(data.vehicle);
    const now = performance.now();
    const duty = vehicle.stats.state ?? null;
    const filled = vehicle.update(data, now, !prefersStillness(), this.fleet.mostPoints);
    const at = isNumber(vehicle.stats.lastUpdate) ? vehicle.stats.lastUpdate : this.fleet.now;
    if ((vehicle.stats.state ?? null) !== duty) this.story.duty(vehicle.id, vehicle.stats.state, at);
    this.fleet.fastest = Math.max(this.fleet.fastest, vehicle.latest?.speed ?? 0);
    this.story.updated(vehicle.id, filled, at);
    this.markers.move(vehicle, now);
    if (isNew && vehicle.latest) {
      this.hasNew = true;
      if (this.fleet.vehicles.size <= FEW) this.welcome();
    }
    if (vehicle === this.fleet.selected) {
      this.isStale = true;
      this.keepInView();
    } else {
      this.areOthersStale = true;
    }
    this.animate();
  }

  on_refused(data) {
    this.learn(data);
    this.story.refused(data);
  }

  on_token(data) {
    this.learn(data);
    this.story.token(data);
  }

  on_faults(data) {
    this.fleet.setFaults(data.faults);
    this.faultButtons.refresh(this.fleet.now);
  }

  on_log(line) {
    this.story.line(line);
    this.story.happening(line);
  }

  learn(data) {
    if (typeof data.vehicle === "string") this.fleet.vehicle(data.vehicle).learn(data.stats);
  }

  // Display

  tick() {
    const now = this.fleet.now;
    this.states = new Map([...this.fleet.vehicles.values()].map((vehicle) => [vehicle, vehicle.state(now, this.fleet.faults)]));
    this.panel.refresh(now, (vehicle) => this.states.get(vehicle));
    this.faultButtons.refresh(now);
    this.welcome();
    if (performance.now() - this.lastArranged >= SLOW_TICK) this.arrange();
    else this.describe();
    byID("key-trips").hidden = !this.fleet.isMixed;
    setText(byID("ramp-middle"), String(Math.round(this.fleet.topSpeed / 2)));
    setText(byID("ramp-top"), `${this.fleet.topSpeed} km/h`);
    byID("follow").setAttribute("aria-pressed", String(this.follows));
    this.animate();
  }

  /** Brings new vehicles into view. */
  welcome() {
    if (!this.hasNew) return;
    this.hasNew = false;
    this.lastArranged = 0;
    if (!this.isTouched) this.begin();
    this.showTiles();
  }

  /** Which vehicles have markers depends on where they are, and on the view. */
  arrange() {
    this.lastArranged = performance.now();
    this.markers.arrange((vehicle) => this.stateOf(vehicle));
    this.areOthersStale = true;
    this.describe();
    this.animate();
  }

  describe() {
    for (const id of this.markers.ids) {
      const state = this.stateOf(this.fleet.vehicle(id));
      this.markers.describe(id, state, STATES[state]);
    }
    this.markers.declutter();
  }

  /** The state of a vehicle as of the last tick. */
  stateOf(vehicle) {
    return this.states?.get(vehicle) ?? vehicle.state(this.fleet.now, this.fleet.faults);
  }

  drawSoon() {
    this.isStale = true;
    this.areOthersStale = true;
    this.lastDrawOfOthers = 0;
    this.tick();
  }

  /** Draws frames only while something moves. */
  animate() {
    if (this.isRunning || document.hidden) return;
    this.isRunning = true;
    const frame = () => {
      const now = performance.now();
      const isGliding = this.markers.step(now);
      const selected = this.fleet.selected;
      const isLit = selected?.lit > now;
      const areOthersLit = this.areOthersLit(now);
      if (isLit || (this.isStale && now - this.lastDraw >= TICK)) {
        this.isStale = false;
        this.lastDraw = now;
        this.tracks.draw();
      }
      if ((this.areOthersStale || areOthersLit) && now - this.lastDrawOfOthers >= (areOthersLit ? GLOW_TICK : SLOW_TICK)) {
        this.areOthersStale = false;
        this.lastDrawOfOthers = now;
        this.others.draw();
      }
      // One frame after the last point has lit up, so that its light is removed.
      if (isLit || areOthersLit) this.isStale = this.areOthersStale = true;
      this.isRunning = isGliding || this.isStale || this.areOthersStale;
      if (this.isRunning) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  /** Whether points light up on a drawn track other than the selected vehicle's. */
  areOthersLit(now) {
    for (const id of this.markers.ids) {
      const vehicle = this.fleet.vehicles.get(id);
      if (vehicle !== this.fleet.selected && vehicle?.lit > now) return true;
    }
    return false;
  }

  /** The first view: a single vehicle is followed, if there are several, all are shown. */
  begin() {
    this.fit(false);
    if (this.fleet.vehicles.size === 1) this.setFollow(true);
    else this.follows = false;
  }

  /** Shows the tiles only once there is a vehicle, so that no tiles of the whole world are requested. */
  showTiles() {
    if (this.tiles && [...this.fleet.vehicles.values()].some((vehicle) => vehicle.latest)) this.tiles.addTo(this.map);
  }

  fit(isAnimated = true) {
    const points = (vehicle) => (this.markers.areFew && vehicle.latest ? [vehicle.latest] : vehicle.track);
    const places = [...this.fleet.vehicles.values()].flatMap((vehicle) => points(vehicle).map((each) => [each.lat, each.lon]));
    if (places.length === 0) return;
    this.map.fitBounds(L.latLngBounds(places), {
      paddingTopLeft: [44, 44], paddingBottomRight: [72, 84], maxZoom: 16.5, animate: isAnimated && !prefersStillness(),
    });
  }

  setFollow(follows) {
    this.follows = follows;
    byID("follow").setAttribute("aria-pressed", String(follows));
    if (follows) this.keepInView();
  }

  /** Moves the map only when the vehicle leaves its middle, so that the map does not move all the time. */
  keepInView(isAnimated = !prefersStillness()) {
    const latest = this.fleet.selected?.latest;
    if (!this.follows || !latest) return;
    const size = this.map.getSize();
    const place = this.map.latLngToContainerPoint([latest.lat, latest.lon]);
    if (Math.abs(place.x / size.x - 0.5) < 0.3 && Math.abs(place.y / size.y - 0.5) < 0.3) return;
    this.map.panTo([latest.lat, latest.lon], { animate: isAnimated, duration: 0.8 });
  }

  select(id) {
    this.fleet.selectedID = id;
    this.lastArranged = 0;
    this.drawSoon();
    const latest = this.fleet.selected?.latest;
    if (!latest) return;
    if (this.follows) this.keepInView();
    else if (!this.map.getBounds().contains([latest.lat, latest.lon])) this.map.panTo([latest.lat, latest.lon]);
  }

  step(by) {
    const ids = this.fleet.ordered.map(({ id }) => id);
    if (ids.length > 0) this.select(ids[(ids.indexOf(this.fleet.selectedID) + by + ids.length) % ids.length]);
  }

  setLink(state) {
    byID("link").dataset.state = state;
    setText(byID("link-text"), state === "live" ? "Page connected" : "Page not connected");
    document.body.classList.toggle("lost", state === "lost");
    if (state === "lost") this.notice("The emulator does not answer. Trying again.", 0);
    else this.notice("", 0);
  }

  notice(text, length) {
    clearTimeout(this.noticeTimer);
    setText(byID("notice"), text);
    byID("notice").hidden = text === "";
    if (length > 0) this.noticeTimer = setTimeout(() => this.notice("", 0), length);
  }

  setTheme(theme) {
    document.body.classList.toggle("dark", theme === "dark");
    this.grid?.setTheme(theme);
    this.route?.setTheme(theme);
    this.others.setTheme(theme);
    this.tracks.setTheme(theme);
  }
}
