#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what an update costs, compared with the C program: bench.py BENCH.json PICTURE.svg, with the output of Benchmarks/run.sh."""
import json
import sys

from svg import Picture, scale

WIDTH, LEFT, BAR, GAP = 860, 190, 17, 5
PANELS = [
    ("CPU per update", "µs", [("CPU per update, us", "2,000 in a row")]),
    ("Memory", "MB", [("peak RSS, MB", "at most, with libraries"), ("anonymous memory, MB", "of its own")]),
    ("On the air per update", "bytes", [("bytes sent per update, back to back", "sent"), ("bytes received", "received")]),
]


def shown(value, unit):
    return f"{value:,.1f} {unit}" if unit == "MB" else f"{value:,.0f} {unit}"


def draw(figures):
    rows = sum(len(panel[2]) for panel in PANELS)
    height = 46 + rows * (2 * BAR + GAP + 14) + len(PANELS) * 12
    picture = Picture(
        WIDTH, height, "What it costs, beside a program in C that sends the same",
        "; ".join(
            f"{panel}, {name}: {shown(figures[key]['daemon'], unit)}, in C {shown(figures[key]['yardstick'], unit)}"
            for panel, unit, bars in PANELS for key, name in bars) + ".")
    y = 52
    for panel, unit, bars in PANELS:
        # Each panel has a scale of its own, from 0.
        most = max(figures[key][who] for key, _ in bars for who in ("daemon", "yardstick"))
        length = scale(0, most, 0, WIDTH - LEFT - 190)
        for index, (key, name) in enumerate(bars):
            if index == 0:
                picture.text(LEFT - 14, y + 13, panel, "strong", "end")
            picture.text(LEFT - 14, y + (30 if index == 0 else 22), name, "small muted", "end")
            for who, css, label in (("daemon", "a", "fleet-locationd"), ("yardstick", "e", "C")):
                value = figures[key][who]
                picture.rect(LEFT, y, max(length(value), 1), BAR, css, 2)
                picture.text(LEFT + length(value) + 8, y + 13, shown(value, unit), "strong" if who == "daemon" else "")
                if panel == PANELS[0][0]:
                    picture.text(LEFT + 8, y + 13, label, "small on")
                y += BAR + 2
            y += GAP + 10
        y += 12
    return picture


if __name__ == "__main__":
    with open(sys.argv[1], encoding="ascii") as file:
        draw(json.load(file)["figures"]).write(sys.argv[2])
