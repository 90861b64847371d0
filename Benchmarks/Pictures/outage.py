#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a drive through an outage: outage.py TRACE.json PICTURE.svg, with the trace that OutageTraceTests write."""
import json
import sys

from svg import Picture, duration, scale, steps

LEFT, RIGHT, WIDTH = 158, 30, 860
# The top and height of each row.
FIXES, REQUESTS, WAITING, AGE = (86, 14), (132, 78), (244, 84), (358, 96)


def age_of_newest(trace):
    """Corners of a sawtooth: the age in seconds of the newest position that Fleet Engine has."""
    points, newest = [], None
    for applied in trace["applied"]:
        if newest is not None:
            points.append((applied["at"], applied["at"] - newest))
        newest = applied["live"]
        points.append((applied["at"], applied["at"] - newest))
    points.append((trace["duration"], trace["duration"] - newest))
    return points


def silences(times, end):
    """The intervals of more than two seconds in which the receiver reported nothing."""
    times = [0] + sorted(times) + [end]
    return [(a, b) for a, b in zip(times, times[1:]) if b - a > 2.5]


def fault(trace, place):
    """When the fault began and ended."""
    return next((fault["from"], fault["until"]) for fault in trace["faults"] if fault["of"] == place)


def draw(trace):
    end = trace["duration"]
    x = scale(0, end, LEFT, WIDTH - RIGHT)
    lanes = {200: (REQUESTS[1] / 6, "accepted"), 0: (REQUESTS[1] / 2, "no response"), 503: (REQUESTS[1] * 5 / 6, "503")}
    saw = age_of_newest(trace)
    oldest = max(age for _, age in saw)
    tunnel = max(silences(trace["fixes"], end), key=lambda gap: gap[1] - gap[0])
    outages = {"network": "no coverage", "server": "Fleet Engine answers 503"}
    outages = {fault(trace, place): name for place, name in outages.items()}
    picture = Picture(
        WIDTH, 490, "Out of coverage, through a tunnel, and a server that is down",
        f"A simulated drive of {duration(end)}: fixes, requests and their outcomes, positions that wait, and how old the "
        f"newest position at Fleet Engine is, {duration(oldest)} at most.")

    top, bottom = 62, AGE[0] + AGE[1]
    for (begin, finish), name in outages.items():
        picture.rect(x(begin), top, x(finish) - x(begin), bottom - top, "shade")
        picture.text((x(begin) + x(finish)) / 2, top - 7, f"{name}, {duration(finish - begin)}", "small", "middle")
    picture.rect(x(tunnel[0]), FIXES[0] - 6, x(tunnel[1]) - x(tunnel[0]), FIXES[1] + 12, "deep")
    picture.text((x(tunnel[0]) + x(tunnel[1])) / 2, FIXES[0] + 11, "tunnel", "small", "middle")
    for minute in range(0, int(end) // 60 + 1, 3):
        picture.strokes([((x(minute * 60), bottom), (x(minute * 60), bottom + 5))], "axis")
        picture.text(x(minute * 60), bottom + 20, f"{minute} min" if minute else "0", "small muted", "middle")

    label = LEFT - 14
    picture.text(label, FIXES[0] + 11, "Receiver", "strong", "end")
    begin = trace["fixes"][0]
    for gap in silences(trace["fixes"], end) + [(trace["fixes"][-1], end)]:
        if gap[0] > begin:
            picture.rect(x(begin), FIXES[0], x(gap[0]) - x(begin), FIXES[1], "e", 2)
            begin = gap[1]
    picture.text(x(10), FIXES[0] - 8, "a fix each second", "small muted")

    picture.text(label, REQUESTS[0] - 10, "Requests", "strong", "end")
    for status, (lane, name) in lanes.items():
        y = REQUESTS[0] + lane
        picture.text(label, y + 4, name, "small muted", "end")
        picture.strokes([((LEFT, y), (WIDTH - RIGHT, y))], "grid")
        chosen = [request for request in trace["requests"] if request["status"] == status]
        if status == 200:
            for request in chosen:
                picture.circle(x(request["at"]), y, 2.6, "a")
        elif status == 0:
            # The line is as long as the daemon waited for a response.
            picture.strokes([((x(r["at"]), y), (x(r["ended"]), y)) for r in chosen], "line sb")
            picture.strokes([((x(r["ended"]), y - 5), (x(r["ended"]), y + 5)) for r in chosen], "thin sb")
        else:
            for request in chosen:
                at = x(request["at"])
                picture.path([(at, y - 4.5), (at + 4.5, y + 3.5), (at - 4.5, y + 3.5)], "hollow thin sd", close=True)

    top, height = WAITING
    most = max(trace["backlog"])
    y = scale(0, most, top + height, top)
    picture.text(label, top + 14, "Positions", "strong", "end")
    picture.text(label, top + 30, "that wait", "strong", "end")
    line = steps([(x(second + 1), y(count)) for second, count in enumerate(trace["backlog"])])
    picture.path([(LEFT, y(0))] + line + [(line[-1][0], y(0))], "area", close=True)
    picture.path(line, "thin sa")
    picture.strokes([((LEFT, y(0)), (WIDTH - RIGHT, y(0)))], "axis")
    for begin, finish in outages:
        cleared = trace["backlog"].index(0, finish)
        peak = max(trace["backlog"][begin:cleared])
        second = trace["backlog"].index(peak, begin)
        picture.text(x(second) - 4, y(peak) - 4, str(peak), "small strong", "end")
        left = [applied for applied in trace["applied"] if finish < applied["at"] <= cleared + 1 and applied["past"]]
        past = sum(len(applied["past"]) for applied in left)
        count = f"{len(left)} requests" if len(left) != 1 else "1 request"
        picture.text(x(cleared) + 8, y(0) - 24, f"{past} follow", "small")
        picture.text(x(cleared) + 8, y(0) - 8, f"in {count}", "small")

    top, height = AGE
    y = scale(0, oldest, top + height, top)
    picture.text(label, top + 14, "Age of the newest", "strong", "end")
    picture.text(label, top + 30, "at Fleet Engine", "strong", "end")
    picture.path([(x(at), y(age)) for at, age in saw], "thin sa")
    picture.strokes([((LEFT, y(0)), (WIDTH - RIGHT, y(0)))], "axis")
    for begin, finish in outages:
        at, age = max((p for p in saw if begin < p[0] < finish + 30), key=lambda p: p[1])
        picture.text(x(at) + 6, y(age) + 10, f"{duration(age)}", "small strong")
        picture.text(x(at) + 6, y(age) + 25, "then live again", "small muted")
    calm = max(age for at, age in saw if at < min(outages)[0])
    picture.text(x(60), y(calm) - 6, f"at most {duration(calm)}", "small muted")
    return picture


if __name__ == "__main__":
    with open(sys.argv[1], encoding="ascii") as trace_file:
        draw(json.load(trace_file)).write(sys.argv[2])
