#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the places of words for which the field has a term: `words.py [-v] [DIRECTORY|FILE ...]`. A hit is a place to look at,
not a mistake: "the disk took 20 ms" is right. -v prints each line, not only counts and files."""
import collections
import re
import signal
import subprocess
import sys

# What is searched for, ignoring case, and the terms to consider instead.
WORDS = {
    r"(not |is |are |was )believed|believes?": "accept, reject",
    r"convict\w*|culprit\w*|verdicts?|on trial": "suspect, probe, bisect, quarantine; --verdict is an option",
    r"told|tells?|telling": "report, log, notify, say",
    r"owed|owes?": "pending, due",
    r"what waits|put on the backlog": "pending, queued, enqueued, stored",
    r"\w*patien(ce|t)": "timeout, grace period, debounce, hold-off, threshold",
    r"takes? back|gives? way": "failover, failback, priority, hold-down",
    r"hold(s|ing)? back|kick\w*|lies low": "suppress, reset the backoff, suspend",
    r"so far ahead|lead (of|over)": "clock offset",
    r"the road'?s?|ways? to|on its way": "network, route, link, path",
    r"parted|ends of a way": "segment break, segment endpoint",
    r"so (long|many|much) (a|an|the|and|may|before|after)\b|by so (much|many)": "the duration, number or amount",
    r"nobody|somebody|whoever|whom|befalls?": "the subject: the daemon, the provider, the driver",
    r"the run before": "the previous run",
    r"mend(s|ed|ing)?": "fix",
    r"connection stands|stands in the way|hung itself": "is established; blocks; has frozen",
    r"for want of|is to be\b|of no use|without a word": "a plain verb",
}
PLACES = ["Sources", "Tests", "docs", "README.md", "scripts", "packaging"]

signal.signal(signal.SIGPIPE, signal.SIG_DFL)
arguments = sys.argv[1:]
verbose = "-v" in arguments
paths = [argument for argument in arguments if argument != "-v"] or PLACES
files = subprocess.run(["git", "ls-files", "-z", "--", *paths], check=True, capture_output=True, text=True).stdout.split("\0")[:-1]
hits = {word: collections.defaultdict(list) for word in WORDS}
for name in files:
    try:
        with open(name, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (UnicodeDecodeError, IsADirectoryError):
        continue
    if name == "scripts/words.py" or max(map(len, lines)) > 5000:
        continue
    for word, found in hits.items():
        pattern = re.compile(rf"\b(?:{word})\b", re.IGNORECASE)
        for number, line in enumerate(lines, 1):
            found[name] += [(number, line.strip())] * len(pattern.findall(line))

for word, terms in WORDS.items():
    found = {name: places for name, places in hits[word].items() if places}
    by_place = {place: sum(len(places) for name, places in found.items() if name.split("/")[0] == place) for place in PLACES}
    counts = ", ".join(f"{place} {count}" for place, count in by_place.items() if count)
    print(f"{sum(map(len, found.values())):5}  {word}  ->  {terms}" + (f"\n       {counts}" if counts else ""))
    for name, places in sorted(found.items(), key=lambda item: -len(item[1]))[: None if verbose else 3]:
        if verbose:
            print("".join(f"         {name}:{number}: {line}\n" for number, line in places), end="")
        else:
            print(f"         {len(places):3}  {name}:{','.join(str(number) for number, _ in places[:8])}")
