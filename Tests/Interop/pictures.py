#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that pictures of measurements, also those in docs, are well-formed, small, self-contained and reproducible."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SVG = "{http://www.w3.org/2000/svg}"
# The maximum size of a picture in bytes.
MOST = 50_000


def bench():
    keys = ("CPU per update, us", "peak RSS, MB", "anonymous memory, MB", "bytes sent per update, back to back",
            "bytes received")
    figures = {key: {"daemon": 1234.5 + index, "yardstick": 617.25} for index, key in enumerate(keys)}
    return {"figures": figures}, ["1,234 µs", "617 µs", "1,235.5 MB", "fleet-locationd"]


def outage():
    """An update every 10 s, except for a minute without a response and one of 503."""
    down, refused = range(120, 180), range(300, 360)
    requests, applied, backlog = [], [], []
    waiting = []
    for second in range(1, 481):
        if second % 10 == 0:
            bad = second in down or second in refused
            status = 0 if second in down else 503 if bad else 200
            requests.append({"at": second, "ended": second + (9 if status == 0 else 0.1), "status": status})
            if bad:
                waiting.append(second)
            else:
                applied.append({"at": second + 0.1, "live": second, "past": waiting})
                waiting = []
        backlog.append(len(waiting))
    fixes = [second for second in range(1, 481) if second not in range(130, 160)]
    faults = [{"of": "network", "from": 120, "until": 180}, {"of": "receiver", "from": 130, "until": 160},
              {"of": "server", "from": 300, "until": 360}]
    trace = {"duration": 480, "faults": faults, "fixes": fixes, "requests": requests, "applied": applied, "backlog": backlog}
    return trace, ["no coverage, 1 min", "Fleet Engine answers 503, 1 min", "tunnel", "6 follow", "in 1 request", "1 min 10 s"]


def delay():
    links = [
        {"name": "one & all", "what": "60 ms, <nothing> lost", "live": list(range(70, 130)), "past": []},
        {"name": "tunnels", "what": "silent", "live": [90, 90, 95], "past": [4000, 61_000]},
        {"name": "nothing live", "what": "a, b, c", "live": [], "past": [900]},
    ]
    return {"minutes": 5, "interval": 10, "links": links}, ["half within 99 ms, all within 129 ms", "all within 1 min 1 s", "one & all"]


def check(source, name):
    """The text in the picture."""
    if len(source) > MOST:
        sys.exit(f"pictures: {name} has {len(source)} bytes")
    root = ElementTree.fromstring(source)
    if root.tag != SVG + "svg" or not root.findtext(SVG + "title") or not root.findtext(SVG + "desc"):
        sys.exit(f"pictures: {name} has no title or no description")
    known = {SVG + tag for tag in ("svg", "title", "desc", "style", "text", "rect", "circle", "path")}
    # Nothing is loaded, executed or linked.
    if {part.tag for part in root.iter()} - known or re.search(rb"href|url\(|@import|nan|inf\b", source):
        sys.exit(f"pictures: {name} has something in it that is no shape")
    if b"prefers-color-scheme:dark" not in source:
        sys.exit(f"pictures: {name} is for light grounds only")
    width, height = map(float, root.get("viewBox").split()[2:])
    for part in root.iter(SVG + "text"):
        x, y, size = float(part.get("x")), float(part.get("y")), len(part.text) * 7.5
        left = x - {"end": size, "middle": size / 2}.get(part.get("text-anchor"), 0)
        if left < -8 or left + size > width + 8 or not 0 < y < height:
            sys.exit(f"pictures: {name}: \"{part.text}\" is cut off")
    return " | ".join(part.text for part in root.iter(SVG + "text"))


def draw(program, data, directory):
    source, target = os.path.join(directory, "data.json"), os.path.join(directory, "picture.svg")
    with open(source, "w", encoding="utf-8") as file:
        json.dump(data, file)
    subprocess.run([os.path.join(TOP, "Benchmarks", "Pictures", program), source, target], check=True, capture_output=True)
    with open(target, "rb") as file:
        return file.read()


def main():
    with tempfile.TemporaryDirectory() as directory:
        for program, (data, words) in (("bench.py", bench()), ("outage.py", outage()), ("delay.py", delay())):
            picture = draw(program, data, directory)
            shown = check(picture, program)
            for word in words:
                if word not in shown:
                    sys.exit(f"pictures: {program} does not show \"{word}\": {shown}")
            if picture != draw(program, data, directory):
                sys.exit(f"pictures: {program} draws the same data in two ways")
    images = sorted(glob.glob(os.path.join(TOP, "docs", "images", "*.svg")))
    if not images:
        sys.exit("pictures: docs/images has none")
    for path in images:
        with open(path, "rb") as file:
            check(file.read(), path)
    print(f"pictures: all passed, {len(images)} in docs")


main()
