// SPDX-License-Identifier: Apache-2.0
// A canvas under Leaflet's panes, and the grid on it. Unlike tiles, it is sharp at every zoom.
const L = window.L;

/** A Leaflet renderer that is drawn as a whole; a subclass has `paint(context, view)`. */
export const CanvasLayer = L.Renderer.extend({
  options: { padding: 0.25 },

  _initContainer() {
    this._container = document.createElement("canvas");
    this._container.setAttribute("aria-hidden", "true");
    this._context = this._container.getContext("2d");
  },

  _destroyContainer() {
    this._container.remove();
    this._container = null;
  },

  _update() {
    // The canvas is being scaled, and is redrawn afterwards.
    if (this._map._animatingZoom && this._bounds) return;
    L.Renderer.prototype._update.call(this);
    const size = this._bounds.getSize();
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    L.DomUtil.setPosition(this._container, this._bounds.min);
    this._container.width = Math.round(size.x * ratio);
    this._container.height = Math.round(size.y * ratio);
    this._container.style.width = `${size.x}px`;
    this._container.style.height = `${size.y}px`;
    this._ratio = ratio;
    const corner = this._map.getPixelOrigin().add(this._bounds.min);
    this._view = { scale: 2 ** this._zoom, left: corner.x, top: corner.y, width: size.x, height: size.y };
    this.draw();
  },

  draw() {
    if (!this._map || !this._view) return;
    const { width, height } = this._view;
    this._context.setTransform(this._ratio, 0, 0, this._ratio, 0, 0);
    this._context.clearRect(0, 0, width, height);
    this.paint(this._context, this._view);
  },
});

/** Grid lines at round distances: the background without tiles. */
export const GridLayer = CanvasLayer.extend({
  setTheme(theme) {
    this._lines = theme === "dark" ? ["#ffffff0d", "#ffffff1a"] : ["#1b2a400c", "#1b2a401c"];
    this.draw();
  },

  paint(context, view) {
    const centre = this._map.getCenter();
    // The same latitude for the whole area: otherwise the lines would shift while the map is moved.
    if (this._latitude === undefined || Math.abs(centre.lat - this._latitude) > 0.5) this._latitude = centre.lat;
    const circumference = 40075016.7 * Math.cos((this._latitude * Math.PI) / 180);
    const pixel = circumference / (256 * view.scale);
    const [line, strong] = this._lines ?? [];
    const step = roundDistance(pixel * 110);
    this.lines(context, view, step / 5 / pixel, line);
    this.lines(context, view, step / pixel, strong);
  },

  lines(context, view, step, colour) {
    if (!(step > 4)) return;
    context.beginPath();
    for (let x = Math.ceil(view.left / step) * step; x < view.left + view.width; x += step) {
      const at = Math.round(x - view.left) + 0.5;
      context.moveTo(at, 0);
      context.lineTo(at, view.height);
    }
    for (let y = Math.ceil(view.top / step) * step; y < view.top + view.height; y += step) {
      const at = Math.round(y - view.top) + 0.5;
      context.moveTo(0, at);
      context.lineTo(view.width, at);
    }
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.stroke();
  },
});

/** 1, 2 or 5 times a power of ten, at least `metres`. */
function roundDistance(metres) {
  const power = 10 ** Math.floor(Math.log10(metres));
  return power * ([1, 2, 5].find((each) => each * power >= metres) ?? 10);
}
