// SPDX-License-Identifier: Apache-2.0
// The route (--route) as a street under the tracks: where the vehicles are while they are silent.
import { CanvasLayer } from "./canvas.js";
import { isNumber } from "./format.js";
import { project } from "./model.js";

/** Also in map.css. */
const PALETTE = {
  light: { edge: "#c9d1dc", street: "#ffffff", tunnel: "#dfe4ec" },
  dark: { edge: "#5b6b80", street: "#364456", tunnel: "#1a222c" },
};
/** The street's width: pixels. */
const WIDTH = 11;

export const RouteLayer = CanvasLayer.extend({
  /** @param points `[latitude, longitude]`, with `true` as the third element if the segment to the next point is a tunnel. */
  initialize(points, options) {
    CanvasLayer.prototype.initialize.call(this, options);
    this._palette = PALETTE.light;
    this._points = points.filter((each) => Array.isArray(each) && isNumber(each[0]) && isNumber(each[1]) && Math.abs(each[0]) <= 85)
      .map(([latitude, longitude, isTunnel]) => ({ place: project(latitude, longitude), isTunnel: isTunnel === true }));
  },

  setTheme(theme) {
    this._palette = PALETTE[theme];
    this.draw();
  },

  paint(context, { scale, left, top }) {
    const open = new Path2D();
    const tunnels = new Path2D();
    let before = null;
    for (const { place, isTunnel } of this._points) {
      const here = [place[0] * scale - left, place[1] * scale - top];
      if (before) {
        const path = before.isTunnel ? tunnels : open;
        path.moveTo(...before.here);
        path.lineTo(...here);
      }
      before = { here, isTunnel };
    }
    context.lineJoin = "round";
    const { edge, street, tunnel } = this._palette;
    // Line ends are flat in tunnels, and round elsewhere.
    for (const [path, colour, width, cap, dashes] of [
      [tunnels, edge, WIDTH + 2, "butt", [7, 5]], [tunnels, tunnel, WIDTH - 1, "butt", []],
      [open, edge, WIDTH + 2, "round", []], [open, street, WIDTH, "round", []],
    ]) {
      context.setLineDash(dashes);
      context.lineCap = cap;
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke(path);
    }
    context.setLineDash([]);
  },
});
