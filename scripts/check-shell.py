#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that LocationDaemon makes no decision: of the core it uses only `Daemon` and value types.

A value type is one without a mutating function that others may call. A type with one is a machine: LocationDaemon may
use what is nested in it (`VehicleAgent.Input`), which is a value, but neither make a machine nor hold one.
"""
import pathlib
import re
import sys

# The only machine of the shell; and a record of what was logged, which decides nothing.
ALLOWED = {"Daemon", "RecentEvents"}
DECLARATION = re.compile(r"\s*((?:\w+ )*)(struct|enum|extension|protocol) +([\w.]+)")


def code(path):
    """The lines of a file without comments and string literals."""
    return [re.sub(r'//.*|"(?:[^"\\]|\\.)*"', "", line) for line in path.read_text().splitlines()]


def machines(root):
    """The names of the core's types with a mutating function that is not private."""
    found, protocols = set(), set()
    for path in root.glob("Sources/Core/**/*.swift"):
        types, depth = [], 0
        for line in code(path):
            declared = DECLARATION.match(line)
            if declared and line.count("{") > line.count("}"):
                name = declared[3].split(".")[-1]
                types.append((depth, None if "private" in declared[1] else name))
                if declared[2] == "protocol":
                    protocols.add(name)
            if types and types[-1][1] and re.search(r"\bmutating func\b", line) and "private" not in line:
                found.add(types[-1][1])
            depth += line.count("{") - line.count("}")
            while types and depth <= types[-1][0]:
                types.pop()
    return found - protocols - ALLOWED


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    names = machines(root)
    # If these are not found, the search itself is broken.
    if not {"VehicleAgent", "SerialSession", "StoreAgent"} <= names:
        sys.exit("check-shell.py finds no machines in the core")
    pattern = re.compile(r"\b(" + "|".join(sorted(names)) + r")\b(?!\.)")
    failed = False
    for path in sorted(root.glob("Sources/LocationDaemon/*.swift")):
        for number, line in enumerate(code(path), 1):
            used = pattern.search(line)
            if used:
                place = f"{path.relative_to(root)}:{number}"
                print(f"{place}: {used[1]} decides: only Daemon does, in the core", file=sys.stderr)
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
