#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads `swift package dump-package` and prints which test targets the address sanitizer has to run: those with a target in
their dependencies, direct or indirect, whose sources contain `unsafe` or are C or C++. Fails if a target that is not a test is built
without strict memory safety or without warnings as errors, because then the word `unsafe` proves nothing.

Integration is left out: its tests start the programs, which are built without the sanitizer.
"""
import json
import pathlib
import re
import sys

LEFT_OUT = {"Integration"}
root = pathlib.Path(__file__).resolve().parent.parent
targets = {target["name"]: target for target in json.load(sys.stdin)["targets"]}


def settings(target):
    return {next(iter(setting["kind"])): setting["kind"] for setting in target["settings"]}


def sources(target):
    return (root / (target.get("path") or f"Sources/{target['name']}")).rglob("*")


def is_unsafe(target):
    """Whether it has code that the compiler does not prove to be memory-safe."""
    if target["type"] == "system":
        return True
    for path in sources(target):
        if path.suffix in {".c", ".cpp"}:
            return True
        if path.suffix == ".swift" and re.search(r"\bunsafe\b", re.sub(r"//.*", "", path.read_text())):
            return True
    return False


def dependencies(name, found):
    for dependency in targets[name]["dependencies"]:
        (other, _) = next(iter(dependency.values()))
        if other in targets and other not in found:
            found.add(other)
            dependencies(other, found)
    return found


unproved = []
for name, target in targets.items():
    if target["type"] in {"test", "system"} or not any(path.suffix == ".swift" for path in sources(target)):
        continue
    kinds = settings(target)
    warnings = kinds.get("treatAllWarnings", {}).get("treatAllWarnings", {}).get("_0")
    if "strictMemorySafety" not in kinds or warnings != "error":
        unproved.append(name)
if unproved:
    sys.exit("without strict memory safety, or with warnings that are no errors: " + ", ".join(unproved))

tests = [name for name, target in targets.items() if target["type"] == "test" and name not in LEFT_OUT]
unsafe = {name for name, target in targets.items() if target["type"] != "test" and is_unsafe(target)}
chosen = [name for name in tests if dependencies(name, set()) & unsafe]
print("with the sanitizer:", *chosen)
print("without, for all they run is proved safe:", *(name for name in tests if name not in chosen))
