#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lists of components (SPDX) of the packages against the packages themselves: components.py DIRECTORY-OF-PACKAGES

Components of a program are determined independently of the linker: libraries by NEEDED and dpkg, static parts by texts that only their
code has.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Strings in the statically linked components that survive stripping.
MARKS = {"swift-runtime": b"Fatal error", "libstdc++-12-dev": b"St9exception", "libtomlplusplus-dev": b"Error while parsing"}
EXPECTED = {
    "fleet-locationd": {"swift-runtime", "libstdc++-12-dev", "libtomlplusplus-dev"},
    "fleet-engine-emulator": {"swift-runtime", "libstdc++-12-dev"},
}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check(is_so, what):
    if not is_so:
        sys.exit(f"components.py: {what}")


def judge(package, place):
    name = output("dpkg-deb", "--field", package, "Package").strip()
    architecture = output("dpkg-deb", "--field", package, "Architecture").strip()
    subprocess.run(["dpkg-deb", "--extract", package, place], check=True)
    inside = pathlib.Path(place, f"usr/share/doc/{name}/{name}.spdx.json").read_bytes()
    check(inside == package.with_suffix(".spdx.json").read_bytes(), f"the list in {package} is not the one beside it")
    document = json.loads(inside)
    parts = {part["SPDXID"]: part for part in document["packages"]}
    linked = {kind: {parts[relation["relatedSpdxElement"]]["name"]: parts[relation["relatedSpdxElement"]]
                     for relation in document["relationships"] if relation["relationshipType"] == kind}
              for kind in ("STATIC_LINK", "DYNAMIC_LINK")}

    [file] = document["files"]
    program = pathlib.Path(place, file["fileName"])
    content = program.read_bytes()
    sums = {entry["algorithm"]: entry["checksumValue"] for entry in file["checksums"]}
    check(sums == {"SHA1": hashlib.sha1(content).hexdigest(), "SHA256": hashlib.sha256(content).hexdigest()}, f"{program}: other checksums")
    programs = [path for path in pathlib.Path(place).rglob("*") if path.is_file() and not path.is_symlink()
                and path.read_bytes()[:4] == b"\x7fELF"]
    check(programs == [program], f"{name} has programs that its list does not name: {programs}")

    for needed in re.findall(r"NEEDED +(\S+)", output("objdump", "--private-headers", program)):
        owners = {line.split(":")[0] for line in output("dpkg-query", "--search", f"*/{needed}").splitlines()}
        listed = [part for part in linked["DYNAMIC_LINK"].values() if needed in part["comment"].split("; ")[0].split(", ")]
        check(len(listed) == 1 and listed[0]["name"] in owners, f"{name}: {needed} is of {owners}, and the list has {listed}")
    depends = output("dpkg-deb", "--field", package, "Depends")
    for part in linked["DYNAMIC_LINK"].values():
        check(part["name"] in re.findall(r"[a-z0-9.+-]+", depends), f"{name} does not depend on {part['name']}")
        check("versionInfo" not in part, f"{part['name']}: the version is that of the box")

    found = {part for part, mark in MARKS.items() if mark in content}
    check(found == EXPECTED[name], f"{name} has parts of {found}")
    check(found <= set(linked["STATIC_LINK"]), f"{name}: {found - set(linked['STATIC_LINK'])} is linked statically, and not in the list")
    check(set(MARKS) & set(linked["STATIC_LINK"]) == found, f"{name}: of {set(linked['STATIC_LINK']) - found} nothing is in the program")
    check(not any("Foundation" in part["comment"] for part in linked["STATIC_LINK"].values()), "Foundation is in a program")
    for part in linked["STATIC_LINK"].values():
        check(part.get("versionInfo") and part["licenseDeclared"] != "NOASSERTION", f"{part['name']}: neither version nor licence")
    # What validators of SPDX 2.3 want of every document.
    identifiers = [element["SPDXID"] for element in [document, *document["packages"], *document["files"]]]
    check(len(set(identifiers)) == len(identifiers), "an SPDXID is there twice")
    check(all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identifier) for identifier in identifiers), identifiers)
    check(re.fullmatch(r"https://\S+", document["documentNamespace"]), document["documentNamespace"])
    for relation in document["relationships"]:
        check({relation["spdxElementId"], relation["relatedSpdxElement"]} <= set(identifiers), relation)

    for path in pathlib.Path(place).rglob("*"):
        if path.is_file() and not path.is_symlink():
            check(b"example.org" not in path.read_bytes(), f"{path} has an example.org")
    check("example.org" not in output("dpkg-deb", "--field", package), f"{package} has an example.org")
    print(f"{name} ({architecture}): {len(linked['STATIC_LINK'])} static and {len(linked['DYNAMIC_LINK'])} dynamic components")


def main(directory):
    architecture = output("dpkg", "--print-architecture").strip()
    version = output("dpkg-parsechangelog", "-l", ROOT / "packaging/debian/changelog", "-S", "Version").strip()
    for name in EXPECTED:
        with tempfile.TemporaryDirectory() as place:
            judge(pathlib.Path(directory, f"{name}_{version}_{architecture}.deb"), place)


main(sys.argv[1])
