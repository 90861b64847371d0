#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a made-up NMEA 0183 recording: recording.py EPOCHS

RMC, GGA and GSA each second, of a vehicle that drives along a winding road at about 14 m/s, without noise: the same bytes each time.
"""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Tests", "Interop"))
from trial import sentence  # noqa: E402

METRES_PER_DEGREE = 111_195


def angle(degrees, width, positive, negative):
    whole, minutes = divmod(round(abs(degrees) * 60_000_000), 60_000_000)
    return f"{whole:0{width}}{minutes / 1_000_000:010.7f},{positive if degrees >= 0 else negative}"


def main():
    latitude, longitude = 52.5, 13.4
    for second in range(int(sys.argv[1])):
        time = f"{8 + second // 3600:02}{second // 60 % 60:02}{second % 60:02}.00"
        speed = 14 + 3 * math.sin(second / 40)
        heading = (60 + 50 * math.sin(second / 90)) % 360
        place = angle(latitude, 2, "N", "S") + "," + angle(longitude, 3, "E", "W")
        knots = speed * 3600 / 1852
        sys.stdout.write(
            sentence(f"GNRMC,{time},A,{place},{knots:.3f},{heading:.2f},211126,,,A")
            + sentence(f"GNGGA,{time},{place},1,12,0.79,{34 + 5 * math.sin(second / 200):.1f},M,40.1,M,,")
            + sentence("GNGSA,A,3,08,10,23,27,32,24,28,21,02,15,,,1.35,0.79,1.09"))
        latitude += speed * math.cos(math.radians(heading)) / METRES_PER_DEGREE
        longitude += speed * math.sin(math.radians(heading)) / (METRES_PER_DEGREE * math.cos(math.radians(latitude)))


if __name__ == "__main__":
    main()
