// SPDX-License-Identifier: Apache-2.0
// The buttons that change the view, the keys, and the sheet on a phone.
import { byID } from "./format.js";

export class Controls {
  constructor(page) {
    this.page = page;
    this.listen();
    this.dragSheet();
    page.setTheme(this.theme);
  }

  get theme() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }

  switchTheme() {
    document.documentElement.dataset.theme = this.theme === "dark" ? "light" : "dark";
    remember(document.documentElement.dataset.theme);
    this.page.setTheme(this.theme);
  }

  showLines(isShown) {
    byID("every-line").checked = isShown;
    this.page.story.showLines(isShown);
  }

  listen() {
    const page = this.page;
    const press = {
      "zoom-in": () => page.map.zoomIn(), "zoom-out": () => page.map.zoomOut(),
      fit: () => {
        page.setFollow(false);
        page.fit();
      },
      follow: () => page.setFollow(!page.follows),
      theme: () => this.switchTheme(),
      help: () => byID("shortcuts").showModal(),
      grip: () => this.setSheet(!document.body.classList.contains("tall")),
    };
    for (const id in press) byID(id).addEventListener("click", press[id]);
    byID("every-line").addEventListener("change", (event) => this.showLines(event.target.checked));
    byID("shortcuts").addEventListener("click", (event) => {
      if (event.target === event.currentTarget) event.target.close();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.page.setTheme(this.theme));
    document.addEventListener("visibilitychange", () => page.drawSoon());
    const keys = {
      f: press.follow, a: press.fit, d: press.theme, "?": press.help, j: () => page.step(1), k: () => page.step(-1),
      l: () => this.showLines(!byID("every-line").checked), "+": press["zoom-in"], "-": press["zoom-out"],
    };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || byID("shortcuts").open) return;
      // While the map has the focus, Leaflet handles these two keys.
      if ("+-".includes(event.key) && byID("map").contains(document.activeElement)) return;
      const name = event.key.toLowerCase();
      if (/^[0-7]$/.test(name)) page.faultButtons.press(name);
      else if (keys[name]) keys[name]();
      else return;
      event.preventDefault();
    });
  }

  setSheet(isTall) {
    document.body.classList.toggle("tall", isTall);
    byID("grip").setAttribute("aria-expanded", String(isTall));
  }

  /** On a phone the sheet follows the finger, and then becomes small or tall. */
  dragSheet() {
    const grip = byID("grip");
    let start = null;
    let wasDragged = false;
    grip.addEventListener("pointerdown", (event) => {
      [start, wasDragged] = [event.clientY, false];
      grip.setPointerCapture(event.pointerId);
    });
    grip.addEventListener("pointerup", (event) => {
      const way = start === null ? 0 : event.clientY - start;
      start = null;
      if (Math.abs(way) < 24) return;
      this.setSheet(way < 0);
      wasDragged = true;
      setTimeout(() => { wasDragged = false; }, 300);
    });
    // A click after a drag with the mouse would revert it; after one with a finger there is none.
    grip.addEventListener("click", (click) => {
      if (wasDragged) click.stopImmediatePropagation();
      wasDragged = false;
    }, { capture: true });
  }
}

/** Stores the choice for the next visit, if the browser allows it. */
function remember(theme) {
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // Storage is off: the choice lasts as long as the page.
  }
}
