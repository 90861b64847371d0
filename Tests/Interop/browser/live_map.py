#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the live map in Debian's Chromium while real daemons drive: live_map.py BINDIR [--screenshots DIR]

With --picture FILE it creates the picture of the README instead: one vehicle, and a tunnel whose positions are delivered later.
With --frames N it reports how smoothly the page shows N vehicles: N daemons with an update a second.
With --crowd N it checks the clusters of N vehicles without daemons that report every 5 s, and the frame rate.
"""

import argparse
import base64
import json
import pathlib
import re
import sys
import time

from chromium import BrowserError, Chromium
from crowd import Crowd
from town import Town
from trial import Failure, check

PAST = {"light": "#c2187f", "dark": "#ff6ab8"}
WIDE = (1440, 900)
SIZES = [(1280, 800), (844, 390), (390, 844), (360, 740)]
# The elements that must be visible without scrolling, complete and without overlap.
PLACES = ["#tools", "#legend", ".leaflet-control-scale", "#vehicle-id", "#vehicle-state", ".tile", "#story-list li:first-child"]
LOOK = (pathlib.Path(__file__).parent / "page.js").read_text()
ACTS = ["tunnel", "slow", "unavailable", "throttled", "tokens-down", "revoke", "expire", "clear"]


def watch(browser, town, **how):
    browser.open(town.url, **how)
    browser.run(LOOK)


def choose(browser, vehicle):
    browser.run(f"[...document.querySelectorAll('.row')].find((each) => each.querySelector('.id').textContent === '{vehicle}').click()")
    browser.until(f"document.querySelector('#vehicle-id').textContent === '{vehicle}'", f"{vehicle} is selected")


def press(browser, act, vehicle=None):
    """Clicks a button, for one vehicle or for all."""
    if vehicle:
        choose(browser, vehicle)
    if browser.run("document.querySelector('#only-box').checked") != bool(vehicle):
        browser.click("#only-box")
    browser.click(f"[data-act='{act}']")


def story(pattern):
    return f"seen.story().find((line) => {pattern}.test(line))"


def of(stats, vehicle):
    """The figures of a vehicle, in /debug/stats."""
    return stats["vehicles"][f"trips/{vehicle}" if vehicle.startswith("taxi") else vehicle]


def figures_agree(browser, town, vehicle):
    """Compares the panel's figures with /debug/stats: they have to agree once, without an update in between."""
    choose(browser, vehicle)
    wrong = f"{vehicle} never rests for a third of a second"
    for _ in range(60):
        before = of(town.stats(), vehicle)
        browser.pause(0.35)
        # All at once: an update comes every second.
        shown, chips = browser.run("""[
          Object.fromEntries(['past', 'refused', 'token-fetches', 'bytes'].map((id) => [id, document.getElementById(id).textContent.trim()])),
          [...document.querySelectorAll('#refusals b')].map((each) => Number(each.textContent.slice(1)))]""")
        after = of(town.stats(), vehicle)
        if before != after:
            continue
        check(after["bytes_accepted"] > 0, "the emulator counts no bytes")
        refused = sum(after["refused"].values())
        wanted = {"past": str(after["past_locations"]), "refused": str(refused),
                  "token-fetches": str(after["token_requests"]), "bytes": str(after["bytes_accepted"] // after["accepted"])}
        shown["token-fetches"] = shown["token-fetches"].split()[0]
        if shown == wanted and sum(chips) == refused:
            return
        wrong = f"{vehicle}: the panel shows {shown} and reasons {chips}, not {wanted}"
    raise Failure(wrong)


def names(browser):
    """Every control has an accessible name."""
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    controls = [node for node in nodes if not node.get("ignored") and node.get("role", {}).get("value") in
                ("button", "checkbox", "link", "log", "list", "dialog", "complementary", "region")]
    nameless = [node["role"]["value"] for node in controls
                if node["role"]["value"] not in ("list", "complementary") and not node.get("name", {}).get("value")]
    check(not nameless, f"without a name: {nameless}")
    return len([node for node in controls if node["role"]["value"] in ("button", "checkbox", "link")])


def walk_by_keyboard(browser):
    browser.run("document.activeElement.blur(); window.getSelection().removeAllRanges(); document.querySelector('.skip').focus()")
    reached = []
    for _ in range(60):
        focus = browser.run("seen.focus()")
        if focus is None or (reached and focus["name"] == reached[0]):
            break
        check(focus["isSeen"], f"no focus ring around {focus['name']}")
        reached.append(focus["name"])
        browser.key("Tab")
    wanted = ["theme", "help", "map", "zoom-in", "zoom-out", "fit", "follow", "only-box", "every-line", *ACTS]
    check(not (missing := [name for name in wanted if name not in reached]), f"Tab never reaches {missing}; it reached {reached}")
    browser.run("document.querySelector('#follow').focus()")
    before = browser.run("document.querySelector('#follow').getAttribute('aria-pressed')")
    browser.key("Enter")
    check(browser.run("document.querySelector('#follow').getAttribute('aria-pressed')") != before, "Enter does nothing to Follow")
    browser.key("f")
    check(browser.run("document.querySelector('#follow').getAttribute('aria-pressed')") == before, "F does nothing to Follow")
    browser.key("?", shift=True)
    browser.until("document.querySelector('#shortcuts').open", "? shows the shortcuts", 3)
    browser.key("Escape")
    browser.until("!document.querySelector('#shortcuts').open", "Escape closes them", 3)
    first = browser.text("#vehicle-id")
    browser.key("j")
    check(browser.text("#vehicle-id") != first, "J does not go to the next vehicle")
    browser.key("k")
    check(browser.text("#vehicle-id") == first, "K does not go back")
    return len(reached)


def contrast(browser, theme):
    browser.pause(0.3)
    result = browser.run("seen.pale()")
    check(result["checked"] > 40, f"only {result['checked']} texts were looked at")
    check(not result["found"], f"too pale in {theme}: {result['found']}")
    return result["checked"]


def pictures(browser, town, folder):
    """Takes and checks screenshots at every size, in the light and the dark theme."""
    for width, height in SIZES:
        for theme in ("light", "dark"):
            name = f"{width}x{height}-{theme}"
            watch(browser, town, width=width, height=height, dark=theme == "dark", touch=width < 1000)
            browser.until("document.querySelectorAll('.vehicle').length === 4", f"{name}: the vehicles")
            choose(browser, "truck-1")
            browser.until("seen.anyPaint() > 500", f"{name}: the tracks")
            check(not (wide := browser.run("seen.overflow()")), f"{name}: wider than the screen: {wide}")
            check(not (bad := browser.run(f"seen.misplaced({json.dumps(PLACES)})")), f"{name}: {bad}")
            contrast(browser, name)
            check(not (cut := browser.run("seen.cutLines()")), f"{name}: lines of what happens are cut: {cut}")
            check(theme == "light" or browser.run("seen.streetContrast()") > 1.6, f"{name}: the route is hard to see")
            browser.until(story("/truck-1.* past positions? delivered/"), f"{name}: what happened before the page was opened")
            check(browser.run(f"seen.painted('{PAST[theme]}')") > 20, f"{name}: nothing is marked as filled in")
            browser.picture(f"{folder}/live-map-{name}.png")


def turned(browser, folder):
    """A vehicle has no network while the window is resized: it stays in view, and its figures are shown as outdated."""
    choose(browser, "truck-1")
    browser.run("document.querySelector('#follow').getAttribute('aria-pressed') === 'true' || document.querySelector('#follow').click()")
    check(browser.run("document.querySelector('#vehicle').matches('.stale') && getComputedStyle(document.querySelector('#stale')).display")
          == "block", "the figures of a vehicle without a network look fresh")
    check(browser.text("#delay") == "–" and browser.text("#delay-most").startswith("nothing arrives for "),
          f"while nothing arrives the age on arrival is {browser.text('#delay')}, {browser.text('#delay-most')}")
    for width, height in (*SIZES, WIDE):
        browser.resize(width, height, width < 1000)
        browser.until("seen.room('truck-1') > 22", f"{width}x{height}: the vehicle is in sight")
        browser.picture(f"{folder}/live-map-{width}x{height}-tunnel.png")
    browser.run("document.querySelector('#follow').click()")


def nonsense(browser, town):
    """Sends invalid messages, with markup in names: the page shows them as text or not at all, and still works."""
    odd = "<img src=/evil onerror=alert(1)>"
    state = {"now": None, "vehicles": {
        odd: {"id": odd, "stats": {"refusals": {odd: 2}, "delays": [None, "x"]}, "position": {"lat": None, "lon": 5, "t": 1}, "track": [
            None, {}, {"t": 1, "lat": 91e9, "lon": 0}, {"t": 2, "lat": 10, "lon": 20, "speed": "fast", "heading": None}]},
        "empty": {}}, "faults": [None, {"name": odd, "ends": "soon"}], "stats": None, "log": [None, {"text": odd, "kind": odd}]}
    events = [("state", state), ("update", {"vehicle": odd, "position": None, "past": [None, {"t": None}], "stats": None}),
              ("update", {"vehicle": 5}), ("refused", {"vehicle": odd, "status": 400, "reason": odd, "message": odd}),
              ("token", {"vehicle": odd, "expires": "never"}), ("faults", {}), ("log", {"text": odd, "kind": "info", "vehicle": odd})]
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events) + "event: update\ndata: {broken\n\n"
    browser.send("Fetch.enable", patterns=[{"urlPattern": "*/map/events"}])
    browser.answers["/map/events"] = base64.b64encode(body.encode()).decode()
    watch(browser, town, width=WIDE[0], height=WIDE[1])
    browser.until(f"document.querySelector('#story-list').textContent.includes({json.dumps(odd)})", "nonsense is shown as text", 10)
    check(browser.run("document.querySelectorAll('img').length") == 0, "a name became markup")
    check(browser.text("#fleet-count") == "2", f"{browser.text('#fleet-count')} vehicles out of the nonsense")
    browser.answers.clear()
    browser.send("Fetch.disable")


def without_vehicles(browser, town):
    """The map is touched before the first vehicle: the tiles still appear with it. The emulator is restarted: the panel is empty."""
    pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

    def answer(path, text):
        browser.answers[path] = base64.b64encode(text.encode()).decode()

    def send(*events):
        # The connection ends after these events, and the page connects again.
        answer("/map/events", "retry: 100\n\n" + "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events))

    empty = ("state", {"vehicles": {}, "faults": [], "log": []})
    now = round(time.time() * 1000)
    update = ("update", {
        "vehicle": "truck-1", "position": {"t": now, "lat": 48, "lon": 11, "speed": 9, "heading": 90, "accuracy": 4, "received": now},
        "stats": {"lastUpdate": now, "updatesPerMinute": 12, "past": 7, "refused": 2, "refusals": {"503": 2}, "tokenExpires": now + 3600000}})
    answer("/map/config", json.dumps({"tiles": {"url": pixel, "attribution": "tiles"}}))
    send(empty)
    browser.send("Fetch.enable", patterns=[{"urlPattern": "*/map/events"}, {"urlPattern": "*/map/config"}])
    watch(browser, town, width=WIDE[0], height=WIDE[1])
    browser.until("document.querySelector('#tile-credit').textContent === 'tiles'", "the attribution", 10)
    check(browser.run("document.querySelectorAll('.leaflet-tile').length") == 0, "tiles of the whole world are requested")
    browser.run("document.querySelector('#map').dispatchEvent(new WheelEvent('wheel'))")
    send(empty, update)
    browser.until("document.querySelectorAll('.leaflet-tile').length > 0", "the tiles appear with the first vehicle", 10)
    send(empty)
    # A page that is still reading the earlier answer shows its vehicle once more: all figures are read at once, and waited for.
    wanted = {"vehicle-id": "No vehicle yet", "vehicle-state": "Waiting", "speed": "–", "fix-age": "–", "accuracy": "–", "heading": "–",
              "rate": "0", "past": "–", "token-left": "none yet", "refused": "–", "refusals": ""}
    browser.until(f"Object.entries({json.dumps(wanted)}).every(([id, text]) => document.getElementById(id).textContent === text)",
                  "without a vehicle the panel is empty")
    browser.answers.clear()
    browser.send("Fetch.disable")


def without_leaflet(browser, town):
    browser.send("Fetch.enable", patterns=[{"urlPattern": "*/map/leaflet.js"}])
    browser.answers["/map/leaflet.js"] = ""
    watch(browser, town)
    browser.until("document.querySelector('#map').textContent.includes('apt install libjs-leaflet')", "the page says what is missing")
    browser.answers.clear()
    browser.send("Fetch.disable")


def duty(browser, town):
    """The taxi goes off duty, is shown as such, and comes back."""
    choose(browser, "taxi-4")
    check(browser.run("!document.querySelector('#vehicle-service').hidden"), "the panel does not say that the taxi is of trips")
    check(browser.run("!document.querySelector('#key-trips').hidden"), "the legend does not distinguish the services")
    check(browser.run("document.querySelectorAll('.vehicle .plate').length") == 1, "the taxi has no plate of its own")
    town.steer("taxi-4", "pause")
    browser.until("document.querySelector('#vehicle-state').textContent === 'Off duty'", "the taxi is off duty")
    browser.until(story("/taxi-4.*Off duty: OFFLINE/"), "its end of duty is shown")
    check(browser.run("seen.state('taxi-4')") == "off", "its marker is not that of a vehicle off duty")
    check(browser.run("document.querySelector('#vehicle').matches('.stale')"), "its figures look fresh")
    accepted = of(town.stats(), "taxi-4")["accepted"]
    browser.pause(2.5)
    check(of(town.stats(), "taxi-4")["accepted"] == accepted, "it reports off duty")
    town.steer("taxi-4", "resume")
    browser.until("document.querySelector('#vehicle-state').textContent === 'Driving'", "the taxi is on duty again")
    browser.until(story("/taxi-4.*On duty: ONLINE/"), "and that is shown")


def tracks(browser):
    """The page's track in a long run: its size is bounded, and a gap remains until past positions fill it."""
    result = browser.run("""import('/map/model.js').then(({ Vehicle }) => {
      const vehicle = new Vehicle('long', 0);
      const position = (second) => ({ t: second * 1000, lat: 50 + second * 1e-4, lon: 10, speed: 11, past: false });
      let most = 0;
      for (let second = 0; second < 20000; second += 1) {
        vehicle.update({ position: position(second), past: [] }, 0, false);
        most = Math.max(most, vehicle.track.length);
      }
      const gaps = () => vehicle.track.filter((each) => each.gap).length;
      const result = { most, first: vehicle.track[0].t, driven: gaps() };
      vehicle.update({ position: position(20060), past: [] }, 0, false);
      result.tunnel = gaps();
      vehicle.update({ position: position(20061), past: Array.from({ length: 60 }, (_, i) => position(20000 + i)) }, 0, false);
      result.filled = gaps();
      result.past = vehicle.track.filter((each) => each.past).length;
      result.sorted = vehicle.track.every((each, index) => index === 0 || vehicle.track[index - 1].t < each.t);
      for (let second = 20062; second < 40000; second += 1) vehicle.update({ position: position(second), past: [] }, 0, false);
      vehicle.update({ position: position(40100), past: [] }, 0, false);
      for (let second = 40101; second < 60000; second += 1) vehicle.update({ position: position(second), past: [] }, 0, false);
      result.kept = gaps();
      return result;
    })""")
    wanted = {"first": 0, "driven": 0, "tunnel": 1, "filled": 0, "past": 60, "sorted": True, "kept": 1}
    check(result["most"] <= 4001, f"a track grows to {result['most']} points")
    check({key: result[key] for key in wanted} == wanted, f"tracks: {result}, not {wanted}")


def states(browser):
    """A vehicle is silent when updates are missing, not because it stands or its receiver has no reception."""
    result = browser.run("""import('/map/model.js').then(({ Vehicle }) => {
      // A vehicle with these updates; a number of metres per second, or null, is the speed of a position of that second.
      const vehicle = (reports) => {
        const made = new Vehicle('v', 0);
        let [lat, from] = [50, 0];
        for (const [second, speed, measured = second] of reports) {
          lat += ((speed ?? 11) * (measured - from)) / 111000;
          from = measured;
          made.update({
            position: { t: measured * 1000, lat, lon: 10, speed, past: false, received: second * 1000 },
            past: [], stats: { lastUpdate: second * 1000 },
          }, 0, false);
        }
        return made;
      };
      const at = (made, ...seconds) => seconds.map((second) => made.state(second * 1000, [])).join(' ');
      const driven = (interval, speed = 11) => [-4, -3, -2, -1, 0].map((n) => [n * interval, speed]);
      const stopped = [...driven(5), [5, 0], [10, 0], [15, 0]];
      return {
        stops: at(vehicle(stopped), 16, 24, 26, 64),
        parked: at(vehicle([...stopped, [65, 0]]), 66, 139, 141),
        slowly: at(vehicle([...driven(10), [10, 0], [20, 0]]), 29, 31, 69),
        moves: at(vehicle(driven(5)), 15, 17),
        mute: at(vehicle(driven(5, null)), 15, 17, 30),
        tunnel: at(vehicle([...driven(5), [50, 11, 0]]), 51, 67, 124, 126),
        garage: at(vehicle([...stopped, [65, 0, 15], [115, 0, 15]]), 116, 150, 189, 191),
        ahead: vehicle([...driven(5, 3), [5, 7, 3605], [10, 4]]).latest.speed,
        again: vehicle([...driven(5, 3), [65, 4, 0], [70, 9, -5]]).latest.speed,
        refused: [503, 0].map((status) => {
          const made = vehicle([]);
          made.learn({ lastRefusal: { at: 1000, status } });
          return made.state(2000, []);
        }).join(' '),
      };
    })""")
    wanted = {
        "stops": "drive drive park park", "parked": "park park silent", "slowly": "drive park park", "moves": "drive silent",
        "mute": "drive silent silent", "tunnel": "drive drive drive silent", "garage": "park park park silent",
        # The last report counts, whatever its time; without a response there was no network.
        "ahead": 4, "again": 9, "refused": "refused tunnel"}
    check(result == wanted, f"states: {result}, not {wanted}")


def test(browser, town, folder):
    began = time.monotonic()

    def done(what):
        print(f"  {time.monotonic() - began:5.1f} s  {what}", flush=True)

    watch(browser, town, width=WIDE[0], height=WIDE[1])
    browser.until("document.querySelector('#link-text').textContent === 'Page connected'", "the page is connected")
    browser.until("document.querySelectorAll('.vehicle').length === 4", "four vehicles are on the map")
    place = browser.run("seen.place('truck-1')")
    browser.until(f"(() => {{ const p = seen.place('truck-1'); return Math.hypot(p[0] - {place[0]}, p[1] - {place[1]}) > 3; }})()",
                  "truck-1 moves on the map")
    browser.until("seen.anyPaint() > 100", "its track is drawn")
    check(browser.run("seen.streets()") > 1000, "the route is not drawn")
    check(browser.run("!document.querySelector('#key-route').hidden"), "the legend has no route")
    done("four vehicles drive on the map")

    press(browser, "tunnel", "truck-1")
    browser.until("/\\d+ s left/.test(seen.tile('tunnel'))", "the tunnel counts down")
    at_first = int(browser.run("seen.tile('tunnel')").split()[0])
    # The page knows the server's clock except for the latency of its first message.
    check(20 <= at_first <= 31, f"the tunnel begins with {at_first} s")
    browser.until("document.querySelector('#vehicle-state').textContent === 'No network'", "truck-1 has no network")
    filled_before = of(town.stats(), "truck-1")["past_locations"]
    browser.click("#fit")
    browser.pause(0.6)
    marked = browser.run(f"seen.painted('{PAST['light']}')")
    turned(browser, folder)
    done("a tunnel for truck-1: its countdown runs, it has no network, its figures look old, and it stays in view at every size")

    fetched = of(town.stats(), "taxi-4")["token_requests"]
    for number, act in enumerate(("revoke", "expire"), 1):
        # The tile says so for three seconds only, in which this program may not look.
        browser.run("window.isDone = false; new MutationObserver(() => { isDone ||= seen.tile('%s') === 'done'; })"
                    ".observe(document.body, { subtree: true, childList: true, characterData: true })" % act)
        press(browser, act, "taxi-4")
        browser.until("isDone", f"{act} says that it was done")
        browser.until(f"parseInt(document.querySelector('#token-fetches').textContent) >= {fetched + number}", f"a new token after {act}")
        accepted = of(town.stats(), "taxi-4")["accepted"]
        for _ in range(100):
            if of(town.stats(), "taxi-4")["accepted"] > accepted + 1:
                break
            browser.pause(0.1)
        else:
            raise Failure(f"no update after {act}")
        browser.pause(1)
    browser.until(story("/taxi-4.*401/"), "the refusals are shown")
    browser.until(story("/taxi-4.*New token/"), "the new tokens are shown")
    done("revoked and expired tokens of taxi-4: refused once, fetched anew, accepted again")

    press(browser, "unavailable", "truck-2")
    press(browser, "throttled", "truck-3")
    browser.until("/s left/.test(seen.tile('unavailable')) && /s left/.test(seen.tile('throttled'))", "503 and 429 count down")
    browser.until(story("/truck-2.*503/"), "truck-2 is refused with 503")
    browser.until(story("/truck-3.*429/"), "truck-3 is refused with 429")
    choose(browser, "truck-2")
    browser.until("document.querySelector('#vehicle-state').textContent === 'Refused'", "truck-2 is shown as refused")
    done("503 for truck-2, 429 for truck-3")

    duty(browser, town)
    done("taxi-4 off duty and back")

    press(browser, "slow", "taxi-4")
    browser.until("/s left/.test(seen.tile('slow'))", "slow counts down")
    browser.until(story("/taxi-4.*[Ss]low: delay 3000 ms/"), "a late response is shown")
    done("slow answers for taxi-4")

    # Checks that need no waiting, during the tunnel.
    controls = names(browser)
    reached = walk_by_keyboard(browser)
    texts = contrast(browser, "light")
    tracks(browser)
    states(browser)
    done(f"{controls} controls have names, {reached} are reached by Tab, {texts} texts are not too pale")

    # Late in the tunnel: each rejection increases the backoff of taxi-4 after all faults have ended.
    asked = of(town.stats(), "taxi-4")["token_requests"]
    press(browser, "tokens-down", "taxi-4")
    press(browser, "revoke", "taxi-4")
    browser.until(story("/taxi-4.*Token request: 503/"), "taxi-4 requests a token, and gets 503", 25)
    check(of(town.stats(), "taxi-4")["token_requests"] > asked, "taxi-4 did not ask for a token")
    done("no token for taxi-4")

    choose(browser, "truck-1")
    browser.click("#fit")
    browser.until("seen.tile('tunnel') === '30 s'", "the tunnel is over", 35)
    lines = [line for line in town.story() if line.get("text", "").startswith("truck-1  tunnel")]
    check(len(lines) > 1 and lines[-1]["text"].endswith(", over"), f"the tunnel in the emulator's log: {lines}")
    lasted = (lines[-1]["at"] - lines[-2]["at"]) / 1000
    check(29.9 <= lasted <= 40, f"the tunnel lasted {lasted:.1f} s")
    browser.until(f"Number(document.querySelector('#past').textContent) > {filled_before + 20}", "the positions of the tunnel are delivered", 20)
    line = browser.until(story("/truck-1.* past positions? delivered/"), "and that is shown")
    browser.until(f"seen.painted('{PAST['light']}') > {marked} + 20", "and they are marked on the map")
    done(line.split("truck-1", 1)[1] + ", marked on the map")

    waited = browser.until(story("/truck-3.*(429.*×2, tried again after|Accepted again after) \\d+ s/"), "the effect of 429 is shown", 45)
    pause = int(re.search(r"after (\d+) s", waited).group(1))
    check(pause >= 10, f"Retry-After: 10 was not kept: {waited}")
    done(f"429: truck-3 left the server alone for {pause} s")

    press(browser, "clear")
    browser.until("seen.tile('slow') === '30 s' && seen.tile('tokens-down') === '60 s'", "all clear ends everything")
    check(town.stats()["faults"] == [], "the emulator has faults left")
    accepted = of(town.stats(), "taxi-4")["accepted"]
    for vehicle in ("truck-1", "truck-3", "taxi-4"):
        figures_agree(browser, town, vehicle)
    done("all clear; the panel's figures are those of /debug/stats")

    pictures(browser, town, folder)
    done(f"screenshots at four sizes in {folder}: nothing cut off or covered, and no text too pale")
    watch(browser, town, width=WIDE[0], height=WIDE[1], still=True)
    browser.until("document.querySelectorAll('.vehicle').length === 4", "the vehicles without motion")
    check(browser.run("document.getAnimations().length") == 0, "something moves although the reader wants stillness")
    for _ in range(400):
        if of(town.stats(), "taxi-4")["accepted"] > accepted:
            break
        browser.pause(0.1)
    else:
        raise Failure("taxi-4 does not come back after all clear")
    without_leaflet(browser, town)
    nonsense(browser, town)
    without_vehicles(browser, town)
    done("nonsense from the server is text, and taxi-4 is back")

    foreign = [url for url in browser.requests if not url.startswith((town.url + "/", "data:", "about:"))]
    check(not foreign, f"the page sent requests elsewhere: {foreign}")
    check(not browser.complaints, "the browser complains: " + "; ".join(browser.complaints))
    done(f"{len(browser.requests)} requests, all to the emulator; no complaint of the browser, its content security policy included")

    watch(browser, town, width=WIDE[0], height=WIDE[1])
    browser.until("document.querySelector('#link-text').textContent === 'Page connected'", "the page is connected again")
    town.stop_emulator()
    browser.until("document.querySelector('#link-text').textContent === 'Page not connected'", "a lost emulator is seen")
    check(browser.run("!document.querySelector('#notice').hidden"), "and said")
    town.start_emulator()
    browser.until("document.querySelector('#link-text').textContent === 'Page connected' && document.querySelector('#notice').hidden",
                  "the emulator is back")
    done("the emulator lost and found again")


def picture(browser, town, file):
    watch(browser, town, width=WIDE[0], height=WIDE[1], dark=True)
    browser.until("document.querySelectorAll('.vehicle').length === 1", "the vehicle")
    # By then the vehicle has driven through the town, and through a tunnel without reception.
    browser.pause(362)
    browser.click("[data-act='tunnel']")
    browser.until("Number(document.querySelector('#past').textContent) > 10", "the tunnel fills in", 60)
    browser.click("#fit")
    browser.pause(3.4)
    browser.picture(file)


def smoothness(browser, seconds):
    """Frames by requestAnimationFrame, and the tasks of the page's main thread, for that time."""
    browser.send("Performance.enable", timeDomain="threadTicks")
    browser.run("window.frame_times = []; window.measures = (window.measures ?? 0) + 1; (function frame(own) { return (now) => {"
                " if (own !== measures) return; frame_times.push(now); requestAnimationFrame(frame(own)); }; })(measures)(performance.now())")

    def measure():
        # Durations are in processor time, so that other programs on this machine do not affect them.
        metrics = {each["name"]: each["value"] for each in browser.send("Performance.getMetrics")["metrics"]}
        return time.monotonic(), metrics

    browser.send("HeapProfiler.collectGarbage")
    browser.pause(1)
    browser.run("frame_times.length = 0")
    began, before = measure()
    browser.pause(seconds)
    browser.until("frame_times.length > 3", "the page draws frames")
    ended, after = measure()
    gaps = browser.run("frame_times.slice(1).map((each, index) => each - frame_times[index])")
    share = {name: 100 * (after[f"{name}Duration"] - before[f"{name}Duration"]) / (ended - began) for name in ("Task", "Script", "Layout", "RecalcStyle")}
    ordered = sorted(gaps)
    return {
        "frames": len(gaps) / sum(gaps) * 1000, "p99": ordered[int(0.99 * (len(gaps) - 1))], "most": ordered[-1],
        "heap": after["JSHeapUsedSize"] / 1e6, **share,
    }


def say_smoothness(what, figures):
    # The frame rate is not checked, because a busy machine reduces it.
    work = figures["Script"] + figures["RecalcStyle"] + figures["Layout"]
    check(work < 50, f"{what}: script, style and layout use {work:.0f} % of the time")
    print(f"{what}: {figures['frames']:.0f} frames a second, 99 % within {figures['p99']:.0f} ms, the longest {figures['most']:.0f} ms; of the "
          f"time {figures['Task']:.0f} % busy, {figures['Script']:.1f} % script, {figures['RecalcStyle']:.1f} % style, {figures['Layout']:.1f} % layout; "
          f"heap {figures['heap']:.1f} MB", flush=True)


def frames(browser, town, vehicles):
    """Reports the frame rate with this many vehicles, for twenty seconds."""
    watch(browser, town, width=WIDE[0], height=WIDE[1])
    browser.until(f"document.querySelectorAll('.vehicle').length === {vehicles}", "all vehicles", 60)
    browser.pause(3)
    say_smoothness(f"{vehicles} vehicles", smoothness(browser, 20))


# The number of vehicles on the map, as markers and in clusters, and the number of those in clusters.
SHOWN = "document.querySelectorAll('.vehicle').length"
CLUSTERED = "[...document.querySelectorAll('.cluster b')].reduce((sum, each) => sum + Number(each.textContent), 0)"

# The scale, which is another one once the map has zoomed.
SCALE = "document.querySelector('.leaflet-control-scale-line').outerHTML"


def crowd(browser, town, vehicles, folder, seconds):
    """A large fleet: clusters, and markers when zoomed in."""
    began = time.monotonic()
    watch(browser, town, width=WIDE[0], height=WIDE[1])
    browser.until(f"document.querySelectorAll('.row').length === {vehicles}", "all vehicles in the list", 30)
    browser.click("#fit")
    browser.until(f"{SHOWN} + {CLUSTERED} === {vehicles}", "every vehicle is a marker or in a cluster", 10)
    check(browser.run(CLUSTERED) > vehicles / 2, "a large fleet is not clustered")
    browser.pause(1)
    say_smoothness(f"{vehicles} vehicles, all in view, {browser.run(SHOWN)} markers and "
                   f"{browser.run('document.querySelectorAll(`.cluster`).length')} clusters", smoothness(browser, seconds))
    browser.picture(f"{folder}/crowd-all.png")
    largest = "[...document.querySelectorAll('.cluster')].sort((a, b) => Number(b.textContent) - Number(a.textContent))[0]"
    check(re.fullmatch(r"\d+ vehicles: \d+ driving.*", browser.run(f"{largest}.getAttribute('aria-label')")), "a cluster has no name")
    before, scale = browser.run(f"[Number({largest}.textContent), {SCALE}]")
    browser.run(f"{largest}.click()")
    browser.until(f"{SCALE} !== '{scale}' && Number({largest}?.textContent ?? 0) < {before}",
                  "a cluster opens when it is clicked")
    say_smoothness("A cluster entered", smoothness(browser, seconds))
    browser.picture(f"{folder}/crowd-cluster.png")
    for _ in range(8):
        if browser.run(CLUSTERED) == 0:
            break
        scale = browser.run(SCALE)
        browser.click("#zoom-in")
        browser.until(f"{SCALE} !== '{scale}'", "the map zooms in")
    check(browser.run(CLUSTERED) == 0 and browser.run(SHOWN) <= 61, "seen from near there are still clusters, or too many markers")
    browser.until("seen.others() > 100", "the tracks are drawn")
    say_smoothness(f"From near, {browser.run(SHOWN)} markers", smoothness(browser, seconds))
    browser.picture(f"{folder}/crowd-near.png")
    # The selected vehicle is never in a cluster, wherever it is.
    name = town.name(vehicles)
    choose(browser, name)
    browser.until(f"document.querySelector('#vehicle-id').textContent === '{name}'", "a vehicle is selected")
    browser.click("#fit")
    browser.until(f"{SHOWN} + {CLUSTERED} === {vehicles}", "every vehicle is shown again", 10)
    check(browser.run(f"seen.place('{name}')") is not None, "the selected vehicle is in a cluster")
    watch(browser, town, width=390, height=844, dark=True)
    browser.until(f"document.querySelectorAll('.cluster').length > 0 && document.querySelectorAll('.row').length === {vehicles}", "clusters on a phone", 20)
    browser.pause(1)
    browser.picture(f"{folder}/crowd-phone.png")
    check(town.failure is None, f"updates fail: {town.failure}")
    check(not browser.complaints, "the browser complains: " + "; ".join(browser.complaints))
    print(f"  {vehicles} vehicles in clusters, entered and seen from near ({time.monotonic() - began:.0f} s); updates up to "
          f"{town.latest:.1f} s late, the emulator used {town.processor():.1f} s of CPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", metavar="BINDIR")
    parser.add_argument("--screenshots", metavar="DIR", default="build/screenshots")
    parser.add_argument("--picture", metavar="FILE")
    parser.add_argument("--frames", metavar="N", type=int)
    parser.add_argument("--crowd", metavar="N", type=int)
    parser.add_argument("--seconds", metavar="N", type=float, default=5, help="of each measurement with --crowd")
    parser.add_argument("--map-files", metavar="DIR", help="the page as it is there, instead of the one in the emulator")
    options = parser.parse_args()
    if options.crowd:
        town = Crowd(options.binaries, options.crowd, options.map_files)
        town.start()
    elif options.picture:
        town = Town(options.binaries, [50], options.map_files, interval="2s", route="town.gpx")
    else:
        town = Town(options.binaries, [25 + 2 * n for n in range(options.frames)] if options.frames else [60, 45, 50, 35], options.map_files,
                    taxis=0 if options.frames else 1)
    browser = None
    try:
        browser = Chromium()
        if options.crowd:
            crowd(browser, town, options.crowd, options.screenshots, options.seconds)
        elif options.picture:
            picture(browser, town, options.picture)
        elif options.frames:
            frames(browser, town, options.frames)
        else:
            test(browser, town, options.screenshots)
    except (Failure, BrowserError) as error:
        print(f"FAILED: {error}", file=sys.stderr)
        if browser:
            for complaint in browser.complaints:
                print(f"  the browser: {complaint}", file=sys.stderr)
            try:
                print(json.dumps(browser.run("seen.story()"), indent=1, ensure_ascii=False), file=sys.stderr)
                browser.picture(f"{options.screenshots}/live-map-failed.png")
            except BrowserError:
                pass
        return 1
    finally:
        if browser:
            browser.close()
        town.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
