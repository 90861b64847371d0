// SPDX-License-Identifier: Apache-2.0
// The tracks: coloured by speed for the selected vehicle, in one colour for each other vehicle; past positions and gaps look different.
import { CanvasLayer } from "./canvas.js";
import { GLOW } from "./model.js";

/** Colours from a speed of 0 to the maximum of the scale; neighbours differ in lightness and hue. Also in map.css. */
const RAMP = [[94, 75, 214], [38, 128, 224], [18, 158, 142], [106, 172, 30], [240, 150, 20]];
const STEPS = 16;

const PALETTE = {
  light: { casing: "#ffffff", past: "#c2187f", fill: "#ffffff", gap: "#6b7789" },
  dark: { casing: "#10151c", past: "#ff6ab8", fill: "#10151c", gap: "#8592a4" },
};

const colours = Array.from({ length: STEPS }, (_, step) => {
  const place = (step / (STEPS - 1)) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(place));
  const mixed = RAMP[low].map((value, index) => Math.round(value + (RAMP[low + 1][index] - value) * (place - low)));
  return `rgb(${mixed.join(" ")})`;
});

/** Maximum points that are drawn of all tracks except the selected vehicle's; the newest of each are drawn. */
const MOST_POINTS = 40000;

/** Draws either the selected vehicle's track, or those of the others, which are many and drawn less often. */
export const TrackLayer = CanvasLayer.extend({
  /** `shows` returns whether the track of a vehicle is drawn. */
  options: { isSelected: true, shows: () => true },

  initialize(fleet, options) {
    CanvasLayer.prototype.initialize.call(this, options);
    this._fleet = fleet;
    this._palette = PALETTE.light;
  },

  setTheme(theme) {
    this._palette = PALETTE[theme];
    this.draw();
  },

  paint(context, view) {
    const now = performance.now();
    context.lineCap = "round";
    context.lineJoin = "round";
    const { isSelected, shows } = this.options;
    const vehicles = [...this._fleet.vehicles.values()].filter((each) => (each === this._fleet.selected) === isSelected && shows(each));
    const share = isSelected ? Infinity : Math.max(50, Math.floor(MOST_POINTS / vehicles.length));
    for (const vehicle of vehicles) this.track(context, view, vehicle, now, isSelected, share);
  },

  track(context, view, vehicle, now, isSelected, share) {
    const { scale, left, top, width, height } = view;
    const casing = new Path2D();
    const gaps = new Path2D();
    const past = new Path2D();
    const own = isSelected ? Array.from({ length: STEPS }, () => null) : [new Path2D()];
    const rings = [];
    const topSpeed = this._fleet.topSpeed / 3.6;
    let before = null;
    let x0 = 0;
    let y0 = 0;
    let isHidden = false;
    let ring = { x: -99, y: -99 };
    const last = vehicle.track.length - 1;
    for (let index = Math.max(0, last - share); index <= last; index += 1) {
      const here = vehicle.track[index];
      if (here.shown > now) {
        isHidden = true;
        continue;
      }
      const x = here.x * scale - left;
      const y = here.y * scale - top;
      if (here.past && Math.hypot(x - ring.x, y - ring.y) > 8 && x > -9 && y > -9 && x < width + 9 && y < height + 9) {
        ring = { x, y, light: Math.max(0, 1 - (now - (here.shown || -GLOW)) / GLOW) };
        rings.push(ring);
      }
      if (before) {
        const isGap = here.gap || isHidden;
        const isPast = here.past || before.past;
        // Nearer points could not be distinguished.
        if (!isGap && index !== last && isPast === here.past && Math.abs(x - x0) + Math.abs(y - y0) < (isSelected ? 2 : 3)) continue;
        if (!((x < 0 && x0 < 0) || (y < 0 && y0 < 0) || (x > width && x0 > width) || (y > height && y0 > height))) {
          let path = gaps;
          if (!isGap && !isSelected) path = own[0];
          else if (!isGap) {
            const speed = Math.min(1, (here.speed ?? before.speed ?? 0) / topSpeed);
            const step = Math.max(0, Math.round(speed * (STEPS - 1)));
            path = own[step] ??= new Path2D();
          }
          for (const each of isGap ? [path] : [path, isPast ? past : casing]) {
            each.moveTo(x0, y0);
            each.lineTo(x, y);
          }
        }
      }
      isHidden = false;
      before = here;
      x0 = x;
      y0 = y;
    }
    const line = isSelected ? 5 : 3;
    context.globalAlpha = isSelected ? 1 : 0.85;
    if (isSelected) stroke(context, casing, this._palette.casing, line + 3);
    // Past positions have the colour of their speed, with an edge.
    stroke(context, past, this._palette.past, line + 3.5);
    context.setLineDash([1, 8]);
    stroke(context, gaps, this._palette.gap, 3);
    context.setLineDash([]);
    own.forEach((path, step) => path && stroke(context, path, isSelected ? colours[step] : vehicle.colour, line));
    for (const each of rings) this.ring(context, each, isSelected ? 4 : 3);
    context.globalAlpha = 1;
  },

  ring(context, { x, y, light }, radius) {
    if (light > 0) {
      context.beginPath();
      context.arc(x, y, radius + 3 + 9 * light, 0, 2 * Math.PI);
      context.globalAlpha = 0.4 * light;
      context.fillStyle = this._palette.past;
      context.fill();
      context.globalAlpha = 1;
    }
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = this._palette.fill;
    context.fill();
    context.strokeStyle = this._palette.past;
    context.lineWidth = 2;
    context.stroke();
  },
});

function stroke(context, path, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke(path);
}
