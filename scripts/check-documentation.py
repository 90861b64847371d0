#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no comment of the sources in Swift and C is wider than 120 columns, which swift-format does not check, and
that the changelog and news of the packages are at most 80 columns wide. Checks that every `package` declaration in Sources
has a doc comment. Exceptions: an initializer that cannot fail, whose parameters are properties with comments of their own,
and the implementation of a requirement of a protocol, which is documented where it is declared: in Sources, or one of the
standard library's below. swift-format's rule for this checks `public` only.
"""
import pathlib
import re
import sys

STANDARD = {"==", "<", "+", "-", "hash", "next", "description", "debugDescription", "customMirror", "rawValue"}
DECLARATION = re.compile(
    r"\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:nonisolated|final|static|mutating|indirect|borrowing|consuming|convenience|override)\s+)*"
    r"package\s+(?:(?:private|internal)\(set\)\s+)?"
    r"(?:(?:nonisolated|final|static|mutating|indirect|borrowing|consuming|convenience|override)\s+)*"
    r"(struct|enum|class|actor|protocol|func|let|var|subscript|init|typealias)\b(.*)"
)
NAME = re.compile(r"\s*`?(\w+|[^\s\w(`]+)")
REQUIREMENT = re.compile(r"\s*(?:static\s+|mutating\s+)*(?:func|var)\s+(\w+)")

root = pathlib.Path(__file__).resolve().parent.parent
files = {path: path.read_text().split("\n") for path in sorted((root / "Sources").rglob("*.swift"))}
required = set(STANDARD)
for lines in files.values():
    in_protocol = False
    for line in lines:
        if re.match(r"(?:@MainActor )?(?:package )?protocol ", line):
            in_protocol = True
        elif line.startswith("}"):
            in_protocol = False
        elif in_protocol and (found := REQUIREMENT.match(line)):
            required.add(found.group(1))

missing = 0
for path, lines in files.items():
    for number, line in enumerate(lines):
        found = DECLARATION.match(line)
        if not found:
            continue
        kind, rest = found.groups()
        name = (NAME.match(rest) or found).group(1)
        if kind == "init" and not rest.startswith("?") and "throws" not in " ".join(lines[number : number + 8]).split("{")[0]:
            continue
        above = number - 1
        while above >= 0 and re.match(r"\s*(@\w|#if|#else|#endif)", lines[above]):
            above -= 1
        if name in required or lines[above].lstrip().startswith("///"):
            continue
        print(f"{path.relative_to(root)}:{number + 1}: no doc comment: {line.strip()}", file=sys.stderr)
        missing += 1

WIDTH = 120
wide = 0
for directory in ("Sources", "Tests", "Benchmarks", "Fuzz", "scripts", "Package.swift"):
    for path in [root / directory, *sorted((root / directory).rglob("*"))]:
        if path.suffix not in {".swift", ".c", ".h", ".cpp"}:
            continue
        for number, line in enumerate(path.read_text().split("\n")):
            if len(line) > WIDTH and line.lstrip().startswith("//"):
                print(f"{path.relative_to(root)}:{number + 1}: a comment of {len(line)} columns: wrap it at {WIDTH}", file=sys.stderr)
                wide += 1
# lintian warns only once the packages are built, which is late.
for name in ("changelog", "fleet-locationd.NEWS"):
    for number, line in enumerate((root / "packaging/debian" / name).read_text().split("\n")):
        if len(line) > 80 and not line.startswith(" -- "):
            print(f"packaging/debian/{name}:{number + 1}: {len(line)} columns: wrap it at 80", file=sys.stderr)
            wide += 1
sys.exit(missing + wide > 0)
