#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A backlog of the largest size that is allowed: how long the core takes to send it, and a start with it on disk."""
import json
import math
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import time

from harness import spawn

# The tables of Sources/Platform/BacklogStore/BacklogSchema.swift: a file of version 2 is read by every release.
TABLES = """
CREATE TABLE vehicles (key INTEGER PRIMARY KEY, provider_id TEXT NOT NULL, vehicle_id TEXT NOT NULL,
  UNIQUE (provider_id, vehicle_id)) STRICT;
CREATE TABLE positions (vehicle INTEGER NOT NULL REFERENCES vehicles (key), time INTEGER NOT NULL, latitude REAL NOT NULL,
  longitude REAL NOT NULL, altitude REAL, speed REAL, heading REAL, horizontal_accuracy REAL, vertical_accuracy REAL,
  speed_accuracy REAL, heading_accuracy REAL, PRIMARY KEY (vehicle, time)) STRICT, WITHOUT ROWID;
ALTER TABLE positions ADD COLUMN spent REAL NOT NULL DEFAULT 0;
PRAGMA application_id = 0x464C6F63;
PRAGMA user_version = 2;
INSERT INTO vehicles VALUES (1, 'bench', 'truck-17');
"""
# A time before the first position of recording.py, in milliseconds since 1970.
END = 1_795_240_000_000


def core(program):
    """Figures of BacklogBenchmark, medians of seven runs."""
    runs = [json.loads(subprocess.run([program], capture_output=True, text=True, check=True).stdout) for _ in range(7)]

    def median(key):
        return {"daemon": statistics.median(run[key] for run in runs)}

    return {
        "100,000 positions, CPU in the core:": {},
        "  restored, ms": median("restore_ms"),
        "  worked off by 100, ms": median("drain_ms") | {"aim": ["at most", 50]},
        "  the same with decisions and requests, ms": median("drain_with_requests_ms"),
    }


def fill(path, rows):
    """Writes the backlog file of a drive with one position per second, on a winding road and with a receiver's noise."""
    noise = random.Random(rows)
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size = 1024")
    database.executescript(TABLES)
    database.executemany(
        "INSERT INTO positions VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 0)",
        ((END - (rows - row) * 1000 + 250, 48.1 + row * 1e-5 + noise.gauss(0, 1e-5),
          11.5 + row * 1.3e-5 + noise.gauss(0, 1e-5), 519.5 + 9 * math.sin(row / 90) + noise.gauss(0, 0.5),
          14 + 3 * math.sin(row / 40) + noise.gauss(0, 0.1), (60 + 50 * math.sin(row / 90) + noise.gauss(0, 1)) % 360,
          noise.uniform(2, 4), noise.uniform(3, 6), noise.uniform(0.2, 0.5)) for row in range(rows)))
    database.commit()
    database.close()


def bytes_of(bench, relay_of, rows):
    """TLS bytes that this number of positions on disk adds to the updates of a run: those of the run with them, minus those of
    the same run with none."""
    sent = []
    for count in (0, rows):
        store = bench.path(f"bytes-{count}")
        os.makedirs(store)
        fill(os.path.join(store, "backlog.sqlite"), count)
        relay = relay_of()
        arguments = bench.daemon(bench.recording(12), port=relay.port, name="bytes")
        with open(bench.path("bytes.toml"), "a", encoding="ascii") as file:
            file.write(f'[backlog]\ndirectory = "{store}"\n')
        subprocess.run(arguments, check=True, capture_output=True)
        time.sleep(0.1)
        sent.append(relay.counters()["sent"])
        database = sqlite3.connect(os.path.join(store, "backlog.sqlite"))
        if database.execute("SELECT count(*) FROM positions").fetchone()[0]:
            raise SystemExit("not all positions of the backlog were sent")
        database.close()
    bench.server.read(0.05)
    return sent[1] - sent[0]


def start(bench, rows, turns):
    """Time from just before exec to the first accepted update, with this number of positions on disk; the median."""
    full, store, settings = (bench.path(name) for name in (f"full-{rows}", "store", "full.toml"))
    os.makedirs(full, exist_ok=True)
    fill(os.path.join(full, "backlog.sqlite"), rows)
    times = []
    for _ in range(turns):
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(full, store)
        arguments = bench.daemon(bench.recording(3), name="full")
        with open(settings, "a", encoding="ascii") as file:
            file.write(f'[backlog]\ndirectory = "{store}"\nmax_locations = 100000\nmax_size = "64 MB"\n')
        bench.server.read()
        begin = time.monotonic()
        process = spawn(arguments, bench.log)
        try:
            while not bench.server.read(0.002):
                if time.monotonic() - begin > 10:
                    raise SystemExit(f"no update with {rows} positions on disk; see {bench.log}")
            times.append(time.monotonic() - begin)
        finally:
            os.kill(process, signal.SIGKILL)
            os.wait4(process, 0)
        # Reads what the daemon had sent by then.
        bench.server.read(0.05)
    return {"daemon": statistics.median(times) * 1e3}
