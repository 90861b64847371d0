#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every relative link of a Markdown page leads to a file of the tree, and its anchor to a heading of that page."""
import pathlib
import re
import subprocess
import sys


def prose(page):
    """The page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)


def anchors(page):
    """The anchors that GitHub makes of the page's headings."""
    names = {}
    for heading in re.findall(r"^#+ +(.*?) *$", prose(page), re.M):
        name = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", name).replace(" ", "-")
        names[name] = names.get(name, 0) + 1
    return {f"{name}-{number}" if number else name for name, count in names.items() for number in range(count)}


broken = 0
for name in subprocess.run(["git", "ls-files", "*.md"], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]:
    page = pathlib.Path(name)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            print(f"{name}: {target} does not exist", file=sys.stderr)
            broken += 1
sys.exit(broken > 0)
