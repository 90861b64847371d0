// SPDX-License-Identifier: Apache-2.0
// What live_map.py queries in the page: it examines what is shown, independently of the page's own code.
(() => {
  const pixels = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  pixels.canvas.width = pixels.canvas.height = 1;

  /** Any CSS colour as [r, g, b, alpha]. */
  function parse(colour) {
    pixels.clearRect(0, 0, 1, 1);
    pixels.fillStyle = colour;
    pixels.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixels.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  }

  const over = (top, bottom) => top.slice(0, 3).map((value, index) => value * top[3] + bottom[index] * (1 - top[3]));

  function luminance(colour) {
    const [r, g, b] = colour.map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function backdrop(element) {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const layer = parse(getComputedStyle(each).backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
  }

  /** A copy of the canvas, so that reading its pixels does not change how it is drawn. */
  function pixelsOf(pane) {
    const canvas = document.querySelector(`.leaflet-${pane}-pane canvas`);
    const copy = document.createElement("canvas");
    copy.width = canvas.width;
    copy.height = canvas.height;
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    return context.getImageData(0, 0, copy.width, copy.height).data;
  }

  function paint(pane) {
    const data = pixelsOf(pane);
    let number = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] > 0) number += 1;
    return number;
  }

  const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  const markerOf = (vehicle) =>
    [...document.querySelectorAll(".vehicle")].find((each) => each.getAttribute("aria-label").split(/[:,]/)[0] === vehicle);

  window.seen = {
    /** Text with less contrast than WCAG 2.2 AA requires. */
    pale() {
      const found = [];
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      let checked = 0;
      while (walk.nextNode()) {
        const element = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || element.closest("script, style, noscript, svg, .skip") || !isShown(element)) continue;
        const style = getComputedStyle(element);
        const behind = backdrop(element);
        const [a, b] = [luminance(over(parse(style.color), behind)), luminance(behind)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        const size = parseFloat(style.fontSize);
        const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
        checked += 1;
        if (ratio < least) found.push(`${walk.currentNode.data.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
      }
      return { checked, found };
    },

    /** Pixels of the tracks in that colour. */
    painted(colour) {
      const wanted = parse(colour);
      const data = pixelsOf("tracks");
      let number = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] > 200 && Math.abs(data[i] - wanted[0]) + Math.abs(data[i + 1] - wanted[1]) + Math.abs(data[i + 2] - wanted[2]) < 24) number += 1;
      }
      return number;
    },

    /** The number of painted pixels of the selected vehicle's track. */
    anyPaint: () => paint("tracks"),

    /** The number of painted pixels of the other vehicles' tracks. */
    others: () => paint("others"),

    /** The number of painted pixels of the route. */
    streets: () => paint("route"),

    /** Where the named vehicle is on the screen. */
    place(vehicle) {
      const marker = markerOf(vehicle);
      if (!marker) return null;
      const { x, y } = marker.getBoundingClientRect();
      return [x, y];
    },

    /** How the map shows the named vehicle. */
    state: (vehicle) => markerOf(vehicle)?.dataset.state,

    /** The element that has the focus, and whether the focus is visible. */
    focus() {
      const element = document.activeElement;
      if (!element || element === document.body) return null;
      const ring = (each) => each && getComputedStyle(each).outlineStyle !== "none" && parseFloat(getComputedStyle(each).outlineWidth) > 0;
      return {
        name: element.dataset.act ?? (element.id || element.getAttribute("aria-label") || element.textContent.slice(0, 40)),
        isSeen: Boolean(ring(element) || ring(element.querySelector(".body")) || element.matches(".skip")),
      };
    },

    /** The elements that are wider than the screen. */
    overflow() {
      return [...document.querySelectorAll("body *")].filter((each) => {
        if (each.closest("#map, #icons, .hidden, .skip") || !isShown(each)) return false;
        const { left, right, width } = each.getBoundingClientRect();
        return width > 0 && (left < -1 || right > innerWidth + 1);
      }).map((each) => each.id || each.className || each.tagName);
    },

    /** Which of these elements are not completely on the screen, and which overlap. */
    misplaced(selectors) {
      const boxes = selectors.flatMap((selector) => [...document.querySelectorAll(selector)].filter(isShown)
        .map((each) => ({ name: each.id || each.dataset.act || selector, box: each.getBoundingClientRect() })));
      const cut = boxes.filter(({ box }) => box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight);
      const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      const pairs = boxes.flatMap((a, index) => boxes.slice(index + 1).filter((b) => meet(a.box, b.box)).map((b) => `${a.name} over ${b.name}`));
      return [...cut.map(({ name }) => `${name} is cut off`), ...pairs];
    },

    /** Pixels of the map between the vehicle and the nearest edge; negative when the vehicle is out of view. */
    room(vehicle) {
      const [x, y] = window.seen.place(vehicle);
      const { left, top, right, bottom } = document.querySelector("#map").getBoundingClientRect();
      return Math.min(x + 22 - left, y + 22 - top, right - x - 22, bottom - y - 22);
    },

    /** Contrast of the route's most frequent colour with the background. */
    streetContrast() {
      const data = pixelsOf("route");
      const numbers = new Map();
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] === 255) numbers.set(data.slice(i, i + 3).join(), (numbers.get(data.slice(i, i + 3).join()) ?? 0) + 1);
      }
      const street = [...numbers].sort((a, b) => b[1] - a[1])[0]?.[0].split(",").map(Number) ?? [0, 0, 0];
      const [a, b] = [luminance(street), luminance(backdrop(document.querySelector("#map")))].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    },

    /** The lines of the event list that are shown only in part. */
    cutLines() {
      const list = document.querySelector("#story-list");
      const bottom = Math.min(list.getBoundingClientRect().bottom, innerHeight);
      return [...list.querySelectorAll("li .text")].filter((each) => {
        const range = document.createRange();
        range.selectNodeContents(each);
        return [...range.getClientRects()].some((box) => box.top < bottom - 1 && box.bottom > bottom + 1);
      }).map((each) => each.textContent);
    },

    /** All lines of the event list. */
    story: () => [...document.querySelectorAll("#story-list li")].map((each) => each.textContent),

    tile: (name) => document.querySelector(`[data-act="${name}"] small`).textContent,
  };
})();
