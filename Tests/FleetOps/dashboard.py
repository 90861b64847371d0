#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the structure of Grafana's dashboards, as far as possible without Grafana: dashboard.py FILE..."""
import json
import re
import sys

# The units of Grafana (packages/grafana-data, valueFormats) that the dashboards use.
UNITS = {"short", "percentunit", "decbytes", "s", "reqps", "cps", "cpm"}
VARIABLE = re.compile(r"\$\{?(\w+)")


def mistakes(dashboard):
    """The errors, as sentences."""
    found = []

    def check(right, sentence):
        if not right:
            found.append(sentence)

    for key in ("uid", "title", "description", "templating", "time", "panels"):
        check(dashboard.get(key), f"no {key}")
    check(dashboard.get("schemaVersion", 0) >= 36, "a schema from before Grafana 9")
    check("id" not in dashboard, "an id, which is the database's")
    variables = {v["name"] for v in dashboard["templating"]["list"]}
    check({"datasource", "provider", "vehicle"} <= variables, f"variables are {variables}")
    ids = [panel.get("id") for panel in dashboard["panels"]]
    check(len(set(ids)) == len(ids) and None not in ids, "panels without an id, or with the same")
    taken = {}
    for panel in dashboard["panels"]:
        name = panel.get("title") or f"panel {panel.get('id')}"
        check(panel.get("title") and panel.get("description"), f"{name}: no title or description")
        check(panel.get("fieldConfig", {}).get("defaults", {}).get("unit") in UNITS, f"{name}: no unit")
        check(panel.get("targets"), f"{name}: no query")
        references = [target.get("refId") for target in panel.get("targets", [])]
        check(len(set(references)) == len(references), f"{name}: refId twice")
        for target in panel.get("targets", []):
            used = set(VARIABLE.findall(target["expr"])) - {"__rate_interval"}
            check(used and used <= variables, f"{name}: variables {used} in {target['expr']}")
            check(target.get("datasource", {}).get("uid") == "${datasource}", f"{name}: a data source of its own")
        place = panel.get("gridPos", {})
        check(place.get("x", 0) + place.get("w", 99) <= 24 and place.get("h", 0) >= 3, f"{name}: beyond the grid")
        for x in range(place.get("x", 0), place.get("x", 0) + place.get("w", 0)):
            for y in range(place.get("y", 0), place.get("y", 0) + place.get("h", 0)):
                check((x, y) not in taken or taken[x, y] == name, f"{name}: over {taken.get((x, y))}")
                taken[x, y] = name
    return sorted(set(found))


def main():
    status = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            dashboard = json.load(file)
        for sentence in mistakes(dashboard):
            print(f"{path}: {sentence}", file=sys.stderr)
            status = 1
        # The check detects errors: a missing unit, a repeated ID and overlapping panels.
        broken = json.loads(json.dumps(dashboard))
        first, second = broken["panels"][:2]
        del first["fieldConfig"]["defaults"]["unit"]
        second["id"], second["gridPos"] = first["id"], first["gridPos"]
        if len(mistakes(broken)) < 3:
            print(f"{path}: its mistakes are not found: {mistakes(broken)}", file=sys.stderr)
            status = 1
        print(f"{path}: {len(dashboard['panels'])} panels, {sum(len(p['targets']) for p in dashboard['panels'])} queries")
    return status


if __name__ == "__main__":
    sys.exit(main())
