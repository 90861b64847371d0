#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a fleet during faults: fleet.py RUNS.json PICTURE.svg, with what FleetBenchmark wrote."""
import json
import math
import sys

from svg import Picture, duration, scale

COLUMNS, WIDTH, HEIGHT = 3, 330, 206
LEFT, TOP = 44, 92
# Heights of requests and ages in a panel, and where they begin.
REQUESTS, AGES = (34, 62), (112, 62)
LONGEST = 7200


def mean(values, seconds):
    """The mean of each second and those around it."""
    sums = [0]
    for value in values:
        sums.append(sums[-1] + value)
    half = seconds // 2
    return [(sums[min(i + half, len(values))] - sums[max(i - half, 0)]) / (min(i + half, len(values)) - max(i - half, 0))
            for i in range(len(values))]


def line(values, x, y, most=135):
    """The maximum of each few values, so that no peak is left out; only the corners of the line."""
    size = max(len(values) // most, 1)
    peaks = [(x(i), y(max(values[i:i + size]))) for i in range(0, len(values), size)]
    return [point for before, point, after in zip([None] + peaks, peaks, peaks[1:] + [None])
            if before is None or after is None or not round(before[1]) == round(point[1]) == round(after[1])]


def panel(picture, run, fleet, x0, y0):
    end = len(run["updates"])
    x = scale(0, end, x0 + LEFT, x0 + WIDTH - 14)
    left, right = x(0), x(end)
    picture.text(x0 + LEFT, y0 + 16, run["title"], "small strong")
    bottom = y0 + AGES[0] + AGES[1]
    if run["until"] > run["from"]:
        width = max(x(run["until"]) - x(run["from"]), 1.5)
        picture.rect(x(run["from"]), y0 + REQUESTS[0], width, bottom - y0 - REQUESTS[0], "shade")

    y = scale(0, 2, y0 + REQUESTS[0] + REQUESTS[1], y0 + REQUESTS[0])
    picture.strokes([((left, y(1)), (right, y(1)))], "grid")
    picture.strokes([((left, y(1.5)), (right, y(1.5)))], "thin sb dash")
    picture.text(left - 6, y(1) + 4, "1", "small muted", "end")
    picture.text(left - 6, y(1.5) + 4, "1.5", "small muted", "end")
    asked = [min(value / fleet["normal"], 2) for value in mean(run["updates"], 10)]
    points = line(asked, x, y)
    picture.path([(left, y(0))] + points + [(points[-1][0], y(0))], "area", close=True)
    picture.path(points, "thin sa")
    # Token requests share the limit's line: 1.5 is 25 a second for 1,000 vehicles.
    asked = [min(value * 1000 / fleet["vehicles"] / 25 * 1.5, 2) for value in mean(run["tokens"], 10)]
    picture.path(line(asked, x, y), "thin sd")
    picture.strokes([((left, y(0)), (right, y(0)))], "axis")

    y = scale(math.log(1), math.log(LONGEST), y0 + AGES[0] + AGES[1], y0 + AGES[0])
    height = lambda age: y(math.log(min(max(age, 1), LONGEST)))
    for age in (1, 10, 60, 600, 3600):
        css = "thin sb dash" if age == 60 else "grid"
        picture.strokes([((left, height(age)), (right, height(age)))], css)
        if age != 1:
            text = duration(age) if age < 3600 else "1 h"
            picture.text(left - 6, height(age) + 4, text.replace(" min", "m").replace(" s", "s").replace(" h", "h"),
                         "small muted", "end")
    for key, css in (("p99", "thin se"), ("p50", "thin sc")):
        picture.path(line(run[key], x, height), css)
    picture.strokes([((left, bottom), (right, bottom))], "axis")
    step = 600 if end < 2400 else 1200 if end <= 3600 else 3600
    for second in range(step, end + 1, step):
        picture.strokes([((x(second), bottom), (x(second), bottom + 4))], "axis")
        text = f"{second // 60} min" if step < 3600 else f"{second // 3600} h"
        anchor = "end" if x(second) > right - 12 else "middle"
        picture.text(min(x(second), right), bottom + 17, text, "small muted", anchor)


def draw(fleet):
    rows = math.ceil(len(fleet["runs"]) / COLUMNS)
    picture = Picture(
        COLUMNS * WIDTH + 20, TOP + rows * HEIGHT + 10, f"{fleet['vehicles']:,} vehicles in virtual time",
        "Of each scenario, second by second: updates and token requests beside their limits, and the age of the newest "
        "position at Fleet Engine, of half and of 99 % of the vehicles.")
    legend = ((20, "sa", "updates, normal = 1"), (178, "sd", "token requests, by their limit"), (388, "sc", "age, half of the vehicles"),
              (574, "se", "age, 99 %"), (666, "sb dash", "limit"))
    for at, css, text in legend:
        picture.strokes([((at, 56), (at + 18, 56))], f"line {css}")
        picture.text(at + 24, 60, text, "small")
    picture.rect(736, 49, 18, 14, "shade")
    picture.text(760, 60, "the fault", "small")
    for index, run in enumerate(fleet["runs"]):
        panel(picture, run, fleet, 6 + index % COLUMNS * WIDTH, TOP - 14 + index // COLUMNS * HEIGHT)
    return picture


if __name__ == "__main__":
    with open(sys.argv[1], encoding="ascii") as runs_file:
        draw(json.load(runs_file)).write(sys.argv[2])
