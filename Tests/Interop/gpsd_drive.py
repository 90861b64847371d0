#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A drive for gpsd.sh: creates the recording, replays it as a receiver, compares the results.

  gpsd_drive.py record EPOCHS               NMEA of a drive, two epochs a second
    gpsd_drive.py feed LINK EPOCHS            the same as a receiver behind LINK (a pseudo-terminal), in real time
    gpsd_drive.py compare FIXES REQUESTS N    the fixes of `fleet-locationctl fixes`, and the emulator's record of updates:
                                                                                        at least N epochs in common, all equal
"""
import datetime
import json
import math
import os
import sys
import time
import tty

from trial import Record, positions, sentence

SENTENCES = 3
PERIOD = 0.5


def angle(degrees, width, letters):
    letter = letters[degrees < 0]
    whole, rest = divmod(abs(degrees), 1)
    return f"{int(whole):0{width}d}{rest * 60:09.6f},{letter}"


def epochs(count):
    """The sentences of each epoch: a curve with varying speed and altitude, south of the equator."""
    latitude, longitude = -33.5, 151.25
    start = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    for number in range(count):
        now = start + datetime.timedelta(seconds=number * PERIOD)
        heading = (350 + 3 * number) % 360
        speed = 10 + 5 * math.sin(number / 7)
        step = speed * PERIOD / 111_000
        latitude += step * math.cos(math.radians(heading))
        longitude += step * math.sin(math.radians(heading)) / math.cos(math.radians(latitude))
        position = f"{angle(latitude, 2, 'NS')},{angle(longitude, 3, 'EW')}"
        clock = f"{now:%H%M%S}.{now.microsecond // 10000:02d}"
        yield (
            sentence(f"GPGGA,{clock},{position},1,08,0.9,{100 + number / 4:.2f},M,22.5,M,,"),
            sentence("GPGSA,A,3,04,05,09,12,24,25,29,31,,,,,1.8,0.9,1.5"),
            sentence(f"GPRMC,{clock},A,{position},{speed * 3600 / 1852:.3f},{heading:.2f},{now:%d%m%y},,,A"),
        )


def feed(link, count):
    master, slave = os.openpty()
    tty.setraw(slave)
    # gpsd drops root before it opens the device.
    os.chmod(os.ttyname(slave), 0o666)
    os.symlink(os.ttyname(slave), link)
    os.set_blocking(master, False)
    for sentences in epochs(count):
        try:
            os.write(master, "".join(sentences).encode())
            # Commands from gpsd to the receiver are ignored.
            os.read(master, 4096)
        except BlockingIOError:
            pass
        time.sleep(PERIOD)


def stamp(text):
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def updates(path):
    """Every location of every accepted update, by its time."""
    found = {}
    for entry in Record(path).entries():
        if entry["accepted"]:
            for location in positions(entry):
                found[stamp(location["supplementalLocationTime"])] = location
    return found


def compare(fixes, requests, least):
    sent = updates(requests)
    common = wrong = altitudes = 0
    for line in open(fixes, encoding="utf-8"):
        fix = json.loads(line)
        location = sent.get(stamp(fix["time"]))
        if location is None:
            continue
        common += 1
        point = location["supplementalLocation"]
        turn = abs((location["heading"] - fix["heading"] + 180) % 360 - 180)
        differences = {
            "latitude": (abs(point["latitude"] - fix["latitude"]), 1e-6),
            "longitude": (abs(point["longitude"] - fix["longitude"]), 1e-6),
            "speed": (abs(location["speed"] - fix["speed"]), 0.02),
            # The API accepts whole degrees only.
            "heading": (turn, 0.51),
        }
        if "altitude" in location:
            altitudes += 1
            differences["altitude"] = (abs(location["altitude"] - fix["altitudeHAE"]), 0.1)
        for name, (difference, most) in differences.items():
            if difference > most:
                wrong += 1
                print(f"{fix['time']}: {name} differs by {difference}: {fix} {location}")
    print(f"{common} of {len(sent)} sent positions are in the recording, {altitudes} with altitude, {wrong} differences")
    if common < least or common < len(sent) or altitudes < common - 2 or wrong:
        sys.exit(1)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "record":
        for sentences in epochs(int(arguments[0])):
            sys.stdout.write("".join(sentences))
    elif command == "feed":
        feed(arguments[0], int(arguments[1]))
    elif command == "compare":
        compare(arguments[0], arguments[1], int(arguments[2]))
    else:
        sys.exit(__doc__)
