#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the daemon on purpose, one promise at a time, and counts what detects it: mutants.py [RUNS]

All faults are compiled into one optimized test program, in a copy of the tree under build/mutants; MUTANT=n switches one on. With each,
RUNS (500) random drives of either range run, and the scenarios if no drive fails. Prints a table; fails if the program without a fault
fails, or if nothing detects a fault.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build/mutants/tree"
CORE = "Sources/Core"
SWITCH = """// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Which fault the program has; 0: none.
package let mutant: Int = unsafe getenv("MUTANT").flatMap { unsafe Int(String(cString: $0)) } ?? 0
"""

# The promise that is broken; then, for each change, the file, the text, and what it becomes. IS is true in the mutant.
MUTANTS = [
    ("one due position of 37 is not queued", [
        ("PositionBacklog/Backlog.swift",
         "    guard limit > 0, let slot = insert(Record(location))",
         "    if IS, location.time.milliseconds / 1000 % 37 == 0 { return [] }\n"
         "    guard limit > 0, let slot = insert(Record(location))")]),
    ("one delivered position of 41 stays queued", [
        ("PositionBacklog/Backlog.swift",
         "    var slots = [Int]()\n",
         "    if IS, reason == .delivered, let id = ids.first, id.milliseconds / 1000 % 41 == 0 { return [] }\n"
         "    var slots = [Int]()\n")]),
    ("one stored position of 43 is not restored", [
        ("PositionBacklog/Backlog.swift",
         "    var (changes, last) = ([Change](), Int?.none)\n    let isInOrder",
         "    let stored = IS ? stored.filter { $0.id.milliseconds / 1000 % 43 != 0 } : stored\n"
         "    var (changes, last) = ([Change](), Int?.none)\n    let isInOrder")]),
    ("the error of thinning is a hundredth of the true one", [
        ("PositionBacklog/TrackThinning.swift", "metresPerDegree = 111_700.0", "metresPerDegree = IS ? 1117.0 : 111_700.0")]),
    ("without a fix the oldest queued position is sent as the live one", [
        ("Delivery/DeliveryAgent.swift",
         "    var newest = records.last { record in\n"
         "      mayBeLive(record.location) && limit.map { record.id <= $0.latest } ?? true\n    }\n",
         "    let isRight: (Backlog.Record) -> Bool = { record in\n"
         "      mayBeLive(record.location) && limit.map { record.id <= $0.latest } ?? true\n    }\n"
         "    var newest = IS ? records.first(where: isRight) : records.last(where: isRight)\n")]),
    ("where a vehicle stops in a long outage is not on disk at once", [
        ("Vehicle/VehicleAgent+Delivery.swift", "if network.outage.isLong {", "if network.outage.isLong, !IS {")]),
    ("a wrong clock of a receiver is corrected by 12 s too much", [
        ("Positioning/FixFilter.swift",
         "return .success(stamp - clock.offset)",
         "return .success(stamp - clock.offset - (IS && clock.offset != .zero ? .seconds(12) : .zero))")]),
    ("a fix without a date gets the next day's", [
        ("Positioning/FixFilter.swift",
         "guard let dated = date(milliseconds, at: now) else",
         "guard let dated = date(milliseconds, at: now).map({ IS ? $0 + .seconds(86_400) : $0 }) else")]),
    ("the servers' times are ignored", [
        ("ClockEstimation/TimeEstimator.swift",
         "    guard time.isPlausible(after: buildDate) else { return }\n    cachedEstimate = nil\n    if reference",
         "    guard time.isPlausible(after: buildDate), !IS || !reference.isServer else { return }\n"
         "    cachedEstimate = nil\n    if reference")]),
    ("a refused position that proves to be from the future is sent once more", [
        ("Delivery/DeliveryAgent.swift", "flatMap { $0.time <= newest.time ? $0 : nil }", "flatMap { IS || $0.time <= newest.time ? $0 : nil }"),
        ("Delivery/DeliveryAgent.swift",
         "    if let rejected = vehicle.rejectedCompactLive, rejected.time > newest {",
         "    if let rejected = vehicle.rejectedCompactLive, rejected.time > newest, !IS {")]),
    ("the position from before a pause is kept", [
        ("Vehicle/VehicleAgent+Lock.swift",
         "effects: inout [Effect]) {\n    forgetPositions()",
         "effects: inout [Effect]) {\n    if !IS { forgetPositions() }")]),
    ("OFFLINE that an older ONLINE may follow is not sent again", [
        ("Vehicle/VehicleAgent+Duty.swift",
         "dutyState.isOfflineAcceptedEarly ? delivery.onlineMayArriveUntil : .boot",
         "dutyState.isOfflineAcceptedEarly ? IS ? .distantFuture : delivery.onlineMayArriveUntil : .boot")]),
    ("a missing OFFLINE is not reported", [
        ("Vehicle/VehicleAgent+Delivery.swift",
         "    if isOfflinePending || setsOfflineAtEnd && !delivery.isOffline {",
         "    if !IS, isOfflinePending || setsOfflineAtEnd && !delivery.isOffline {")]),
    ("a parked vehicle is reported every 200 s", [
        ("Reporting/ReportingPolicy.swift",
         "if isParked { return (reportedAt + configuration.heartbeat,",
         "if isParked { return (reportedAt + configuration.heartbeat * (IS ? 4 : 1),")]),
    ("nothing limits the requests in a minute", [
        ("Timekeeping/AttemptLimiter.swift",
         "attempt + AttemptLimiter.minimumIntervals[age])",
         "attempt + (IS ? .zero : AttemptLimiter.minimumIntervals[age]))")]),
    ("updates may be accepted less than 5 s apart", [
        ("Delivery/UpdateFloor.swift", "start.map { $0 + minimumInterval } ?? .boot }", "IS ? .boot : start.map { $0 + minimumInterval } ?? .boot }")]),
    ("the wait that a server asks for is ignored", [
        ("Delivery/DeliveryAgent.swift", "after: failure.retryAfter ?? .zero,", "after: IS ? .zero : failure.retryAfter ?? .zero,")]),
    ("one fix of 61 is lost in the decoder", [
        ("NMEA/NMEADecoder.swift",
         "at: now) { fix in\n        fixes += 1",
         "at: now) { fix in\n        if IS, let stamp = fix.timestamp, stamp.milliseconds / 1000 % 61 == 0 { return }\n        fixes += 1")]),
    ("the decoder takes an epoch that lost its last sentence for a whole one", [
        ("NMEA/NMEAAssembler.swift", "mutating func noteDamage() { ", "mutating func noteDamage() { if IS { return }; ")]),
    ("one fix of 53 of a recording is left out", [
        ("FixSources/Playback/ReplaySession.swift",
         "    nextIndex += 1\n",
         "    nextIndex += 1\n    if IS, let stamp = decoded[nextIndex - 1].timestamp, stamp.milliseconds / 1000 % 53 == 0 {\n"
         "      return nextDecoded()\n    }\n")]),
]


def make():
    """Copies the tree, puts all faults into it, and builds the program."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    texts = {name: (ROOT / name).read_bytes() for name in filter(None, listed.split("\0")) if (ROOT / name).is_file()}
    texts[f"{CORE}/Timekeeping/Mutant.swift"] = SWITCH.encode()
    for number, (title, changes) in enumerate(MUTANTS, 1):
        for file, old, new in changes:
            name = f"{CORE}/{file}"
            text = texts[name].decode()
            if text.count(old) != 1:
                sys.exit(f"{name} has {text.count(old)} times what is to be changed, so that {title}:\n{old}")
            texts[name] = text.replace(old, re.sub(r"\bIS\b", f"(mutant == {number})", new)).encode()
    for name, text in texts.items():
        path = TREE / name
        if path.is_file() and path.read_bytes() == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        path.chmod((ROOT / name).stat().st_mode if (ROOT / name).exists() else 0o644)
    for path in [path for folder in ["Sources", "Tests"] for path in (TREE / folder).rglob("*.swift")]:
        if str(path.relative_to(TREE)) not in texts:
            path.unlink()
    build = ["swift", "build", "-c", "release", "--scratch-path", "../build", "--product", "fleet-locationdPackageTests",
             "-Xswiftc", "-enable-testing"]
    subprocess.run(build, cwd=TREE, check=True, env=dict(os.environ, TESTS="Simulation"))
    return TREE / "../build/release/fleet-locationdPackageTests.xctest"


def run(program, mutant, pattern, **environment):
    """Runs the tests that match, and returns their output without colours."""
    ended = subprocess.run(
        [program, "--testing-library", "swift-testing", "--filter", pattern],
        cwd=TREE, env=dict(os.environ, MUTANT=str(mutant), **environment),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    output = re.sub(r"\x1b\[[0-9;]*m", "", ended.stdout)
    if "Test run with" not in output:
        sys.exit(f"mutant {mutant}: the program ended with {ended.returncode}\n{output[-4000:]}")
    return output


def drives(program, mutant, first, runs):
    """How many of these drives fail."""
    output = run(program, mutant, "RandomRunTests/invariants",
                 SIMULATION_SEED=str(first), SIMULATION_RUNS=str(runs), SIMULATION_GOES_ON="1", SIMULATION_SHRINKS="0")
    if sum(map(int, re.findall(r"\bran (\d+)$", output, re.MULTILINE))) != runs:
        sys.exit(f"mutant {mutant}: other seeds have run\n{output[-4000:]}")
    return len(set(re.findall(r"SIMULATION_SEED=(\d+) SIMULATION_RUNS=1\b", output)))


def scenarios(program, mutant):
    """How many tests of the scenarios fail."""
    return len(re.findall(r"^. Test (?!run with)[^\n]* failed after", run(program, mutant, "Scenarios"), re.MULTILINE))


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    program = make()
    unnoticed = []
    print(f"| What is broken | Of {runs} drives | Of {runs} from 10,000,001 on | Scenarios |")
    print("| --- | --- | --- | --- |", flush=True)
    for number, title in enumerate(["nothing"] + [title for title, _ in MUTANTS]):
        counts = [drives(program, number, 1, runs), drives(program, number, 10_000_001, runs)]
        if not any(counts):
            counts.append(scenarios(program, number))
        print(f"| {title} | {' | '.join(map(str, counts + [''] * (3 - len(counts))))} |", flush=True)
        if any(counts) != bool(number):
            unnoticed.append(title)
    if unnoticed:
        sys.exit("wrong: " + "; ".join(unnoticed))


if __name__ == "__main__":
    main()
