#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what Markdown pages name exists: the file of each relative link, and the heading of its anchor; each target of make,
option of fleet-locationctl, file of the tree, and suite, scenario or function of the tests."""
import pathlib
import re
import subprocess
import sys


def prose(page):
    """The page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)


def anchors(page):
    """The anchors that GitHub makes from the page's headings."""
    names = {}
    for heading in re.findall(r"^#+ +(.*?) *$", prose(page), re.M):
        name = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", name).replace(" ", "-")
        names[name] = names.get(name, 0) + 1
    return {f"{name}-{number}" if number else name for name, count in names.items() for number in range(count)}


def code(page):
    """The page's code blocks and spans, with each command on one line."""
    blocks = re.findall(r"^```[\s\S]*?^```$|`[^`\n]+`|^ {4}.*$(?:\n {4}.*$)*", page.read_text(), re.M)
    return re.sub(r"\\\n *", "", "\n".join(blocks))


def unknown(page):
    """The names on the page that do not exist in the tree."""
    names, text = code(page), page.read_text()
    yield from (f"make {name}" for name in re.findall(r"\bmake ([a-z][a-z0-9-]+)", names) if name not in targets)
    for command in re.findall(r"\bfleet-locationctl ([^`|;&#\n]+)", names):
        yield from (name for name in re.findall(r"(?<!\S)--[a-z-]+", command) if name not in options)
    folders = "Tests|scripts|packaging|Sources|Core|Platform|Benchmarks|Fuzz|systemd|config"
    for path in re.findall(rf"(?<![\w/.-])((?:{folders})/[\w./+-]*\w)", text):
        if not any(pathlib.Path(place + path + suffix).exists() for place in ("", "Sources/") for suffix in ("", ".swift")):
            yield path
    yield from (name for name in re.findall(r"(?<![\w…-])[A-Z]\w+(?:Tests|Scenarios)\b", text) if name not in suites)
    yield from (f"{suite}.{name}" for suite, name in re.findall(r"\b([A-Z]\w+(?:Tests|Scenarios))\.(?!swift\b)([a-z]\w+)", text)
                if name not in functions.get(suite, {name}))


files = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
swift = {name: pathlib.Path(name).read_text() for name in files if name.endswith(".swift")}
targets = set(re.findall(r"^([a-z0-9-]+):", pathlib.Path("Makefile").read_text(), re.M))
options = {option for text in swift.values() for option in re.findall(r"--[a-z][a-z-]+", text)}
suites = {part for name in swift for part in pathlib.Path(name).parts} | {
    suite for text in swift.values() for suite in re.findall(r"\b(?:struct|enum|class|extension) (\w+)", text)}
functions = {}
for text in swift.values():
    for suite in re.findall(r"\b(?:struct|class|extension) (\w+(?:Tests|Scenarios))\b", text):
        functions.setdefault(suite, set()).update(re.findall(r"\bfunc (\w+)", text))
broken = 0
for name in [name for name in files if name.endswith(".md")]:
    page = pathlib.Path(name)
    for missing in sorted(set(unknown(page))):
        print(f"{name}: {missing} does not exist", file=sys.stderr)
        broken += 1
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            print(f"{name}: {target} does not exist", file=sys.stderr)
            broken += 1
sys.exit(broken > 0)
