#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws how long positions take to reach Fleet Engine: delay.py DELAYS.json PICTURE.svg, with the output of Tests/Interop/badlink/delays.py."""
import json
import math
import sys

from svg import Picture, duration, scale

WIDTH, LEFT, RIGHT, TOP, ROW, FOOT = 860, 196, 36, 76, 66, 58
MARKS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300]
# The width of the columns of dots, and the maximum distance between dots in a column. Pixels.
COLUMN, STEP = 5, 5


def stacked(delays, x, middle, height):
    """The places of the dots, in the order of the delays: in columns around the middle of the row."""
    columns = [round(x(delay) / COLUMN) for delay in delays]
    fullest = max(columns.count(column) for column in columns)
    step = min(STEP, height / fullest)
    places = []
    for index, column in enumerate(columns):
        places.append((column * COLUMN, middle + (columns[:index].count(column) - (columns.count(column) - 1) / 2) * step))
    return places


def short(milliseconds):
    return f"{milliseconds} ms" if milliseconds < 1000 else duration(milliseconds / 1000)


def draw(measured):
    links = measured["links"]
    every = [delay / 1000 for link in links for delay in link["live"] + link["past"]]
    low = max([mark for mark in MARKS if mark <= min(every)], default=MARKS[0])
    high = min([mark for mark in MARKS if mark >= max(every)], default=MARKS[-1])
    log = scale(math.log(low), math.log(high), LEFT, WIDTH - RIGHT)

    def x(milliseconds):
        return log(math.log(min(max(milliseconds / 1000, low), high)))

    def half(link):
        delays = sorted(link["live"] + link["past"])
        return delays[(len(delays) - 1) // 2]

    bottom = TOP + ROW * len(links)
    picture = Picture(
        WIDTH, bottom + FOOT, "From the fix to Fleet Engine",
        "How long each position took. " + "; ".join(
            f"{link['name']}: half within {short(half(link))}, all within {short(max(link['live'] + link['past']))}"
            for link in links) + ".")
    picture.text(20, 52, "Each dot is a position:", "small muted")
    picture.dots([(164, 48)], "sa")
    picture.text(172, 52, "sent as the newest", "small muted")
    picture.dots([(300, 48)], "sb square")
    picture.text(308, 52, "held back, and sent along with a newer one", "small muted")
    for mark in (mark for mark in MARKS if low <= mark <= high):
        picture.strokes([((x(mark * 1000), TOP - 6), (x(mark * 1000), bottom))], "grid")
        label = f"{mark:g} s" if mark < 60 else f"{mark / 60:g} min"
        picture.text(x(mark * 1000), bottom + 18, label, "small muted", "middle")
    picture.strokes([((LEFT, bottom), (WIDTH - RIGHT, bottom))], "axis")
    for index, link in enumerate(links):
        middle = TOP + ROW * (index + 0.5)
        picture.text(20, middle - 5, link["name"], "strong")
        for line, words in enumerate(link["what"].split(", ", 1)):
            picture.text(20, middle + 10 + 14 * line, words, "small muted")
        places = stacked(link["live"] + link["past"], x, middle, ROW - 14)
        picture.dots(places[: len(link["live"])], "sa")
        if link["past"]:
            picture.dots(places[len(link["live"]) :], "sb square")
        at = x(half(link))
        picture.strokes([((at, middle - ROW / 2 + 6), (at, middle + ROW / 2 - 6))], "axis")
        words = f"half within {short(half(link))}, all within {short(max(link['live'] + link['past']))}"
        picture.text(WIDTH - 16, middle - ROW / 2 + 14, words, "small", "end")
    picture.text(
        20, bottom + 42, f"{len(every)} positions: one each {measured['interval']} s for {measured['minutes']:g} minutes on each link",
        "small muted")
    return picture


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        draw(json.load(file)).write(sys.argv[2])
