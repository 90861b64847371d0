// SPDX-License-Identifier: Apache-2.0
// Formats figures, and changes the page. Text is inserted as text, never as markup.

export const byID = (id) => document.getElementById(id);

/** Sets text only where it differs: most figures stay as they are. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** An element with text, which may be from the server. */
export function make(name, className = "", text = "") {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function makeSVG(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  element.append(...children);
  return element;
}

export const icon = (name) => makeSVG("svg", { "aria-hidden": "true" }, makeSVG("use", { href: `#i-${name}` }));

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** Milliseconds as "< 1 ms", "21 ms", "0.21 s", "12 s", "4 min", "2 h". */
export function span(milliseconds) {
  if (!isNumber(milliseconds)) return "–";
  const sign = milliseconds < 0 ? "-" : "";
  const seconds = Math.abs(milliseconds) / 1000;
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 0.0995) return `${sign}${Math.round(seconds * 1000)} ms`;
  if (seconds < 0.995) return `${sign}${seconds.toFixed(2)} s`;
  if (seconds < 9.95) return `${sign}${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${sign}${Math.round(seconds)} s`;
  if (seconds < 7200) return `${sign}${Math.floor(seconds / 60)} min`;
  return `${sign}${Math.floor(seconds / 3600)} h`;
}

/** An age in whole seconds, so that it counts up evenly. */
export function age(milliseconds) {
  if (!isNumber(milliseconds)) return "–";
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s ago`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min ago`;
}

/** The remaining lifetime of a token: "54 min 10 s". */
export function rest(milliseconds) {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Metres per second as whole km/h. */
export const kmh = (speed) => (isNumber(speed) ? String(Math.round(Math.abs(speed) * 3.6)) : "–");

const POINTS = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];

export function compass(heading) {
  if (!isNumber(heading)) return "–";
  const degrees = Math.round(((heading % 360) + 360) % 360) % 360;
  return `${degrees}° ${POINTS[Math.round(degrees / 45) % 8]}`;
}

export function metres(value) {
  if (!isNumber(value)) return "–";
  if (value >= 10000) return `±${Math.round(value / 1000)} km`;
  return `±${value < 10 ? value.toFixed(1) : Math.round(value)} m`;
}

export const count = (value) => (isNumber(value) ? String(Math.round(value)) : "–");

export const several = (number, one, many) => `${number} ${number === 1 ? one : many}`;

export const clockTime = (milliseconds) =>
  isNumber(milliseconds) ? new Date(milliseconds).toTimeString().slice(0, 8) : "--:--:--";

export const prefersStillness = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
