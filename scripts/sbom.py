#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the list of a package's components, in SPDX 2.3: sbom.py PACKAGE, called by packaging/debian/rules when its programs are stripped
and their dependencies are known. The same commit gives the same bytes.

Linked statically, so not a dependency of the package: what linked.py has found, grouped by the Debian package that it is from; Swift's
runtime is from the toolchain. Linked dynamically: the libraries that the program needs (NEEDED), grouped by the packages that the package
depends on; the box has its own versions of them.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

PACKAGE = sys.argv[1]
TREE = pathlib.Path("debian", PACKAGE)
LICENSES = {
    "swift": "Apache-2.0 WITH Swift-exception", "tomlplusplus": "MIT", "glibc": "LGPL-2.1-or-later",
    "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def field(name):
    return re.search(rf"^{name}: (.*)$", pathlib.Path("debian/control").read_text(), re.M)


def owners(paths):
    """The files of each Debian package."""
    # The roots of the cross-compiler, and a /lib that is /usr/lib.
    paths = {path.removeprefix("/target") for path in paths}
    # Its status is 1 if it does not know one of them.
    lines = subprocess.run(["dpkg-query", "--search", *sorted(paths | {"/usr" + path for path in paths})],
                           capture_output=True, text=True).stdout.splitlines()
    known = {path.removeprefix("/usr"): package.split(", ")[0] for package, path in (line.split(": ", 1) for line in lines)}
    found = {}
    for path in sorted(paths):
        if path.removeprefix("/usr") not in known:
            sys.exit(f"sbom.py: {path} is linked, and in no Debian package")
        found.setdefault(known[path.removeprefix("/usr")], []).append(pathlib.Path(path).name)
    return found


def about(package):
    """The name, the source package and the version of an installed Debian package."""
    return output("dpkg-query", "--show", "--showformat=${Package} ${source:Package} ${Version}\n", package).split("\n")[0].split(" ")


def license_of(source):
    return LICENSES.get(re.sub(r"-\d+$", "", source), "NOASSERTION")


version = output("dpkg-parsechangelog", "--show-field", "Version").strip()
architecture = os.environ["DEB_HOST_ARCH"]
multiarch = os.environ["DEB_HOST_MULTIARCH"]
maintainer, homepage = field("Maintainer")[1], field("Homepage")
created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
packages, relationships = [], []


def add(name, identifier, linked=None, **fields):
    packages.append({
        "SPDXID": identifier, "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "copyrightText": "NOASSERTION",
        "licenseConcluded": "NOASSERTION", **fields})
    if linked:
        relationships.append({"spdxElementId": "SPDXRef-program", "relationshipType": linked, "relatedSpdxElement": identifier})


def purl(text):
    """A package URL."""
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": text}]


def locator(name, version):
    return purl(f"pkg:deb/debian/{name}{'@' + version.replace('+', '%2B') if version else ''}?arch={architecture}")


program = next(path for path in sorted((TREE / "usr/bin").iterdir()) if not path.is_symlink())
content = program.read_bytes()
linked = json.loads(pathlib.Path("linked", f"{program.name}.json").read_text())
own = {"licenseDeclared": "Apache-2.0", "licenseConcluded": "Apache-2.0", "versionInfo": version, "primaryPackagePurpose": "APPLICATION",
       "supplier": "Organization: " + re.sub(r" <(.*)>", r" (\1)", maintainer)}
if homepage:
    own["homepage"] = homepage[1]
add(PACKAGE, "SPDXRef-package", **own)
# A package CONTAINS files only if all of them are listed, and this list is about the program.
relationships += [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": f"SPDXRef-{element}"}
                  for element in ("package", "program")]

parts = {path: f"{pathlib.Path(path).name} ({count} of its members)" for path, count in linked["archives"].items()}
parts |= {path: pathlib.Path(path).name for path in linked["objects"]}
swift = sorted(text for path, text in parts.items() if "/swift_static/" in path)
# The compiler for arm64 is Debian's. The revision of its package is not known here.
if any("/usr/libexec/swift/" in path for path in parts):
    origin = {"supplier": "Organization: Debian", "sourceInfo": "Debian's source package swiftlang",
              "externalRefs": locator("swiftlang", None)}
else:
    origin = {"supplier": "Organization: The Swift project (https://www.swift.org)",
              "externalRefs": purl(f"pkg:github/swiftlang/swift@swift-{linked['compiler']}-RELEASE")}
add("swift-runtime", "SPDXRef-swift-runtime", "STATIC_LINK", versionInfo=linked["compiler"], licenseDeclared=LICENSES["swift"],
    comment=", ".join(swift), **origin)

depends = dict(re.findall(r"([a-z0-9.+-]+) \(([^)]*)\)", re.search(r"^Depends: (.*)$", (TREE / "DEBIAN/control").read_text(), re.M)[1]))
needed = re.findall(r"NEEDED +(\S+)", output("objdump", "--private-headers", str(program)))
places = output("dpkg-query", "--search", *(f"*/{library}" for library in needed)).splitlines()
dynamic = {}
for library in needed:
    # The dynamic loader belongs to libc, and is in a different place.
    line = next(line for line in places
                if line.endswith(f"/{multiarch}/{library}") or "ld-linux" in library and re.search(rf"/lib\S*/{library}$", line))
    name, source, _ = about(line.split(": ")[0].split(", ")[0])
    dynamic.setdefault(name, (source, []))[1].append(library)
static = owners(path for path in parts if "/swift_static/" not in path)
shared_sources = {source for source, _ in dynamic.values()} | {"linux"} | {about(package)[1] for package in static}
# If no library of a header's package is listed, the program contains code of the header itself.
headers = {package: names for package, names in owners(linked["headers"]).items() if about(package)[1] not in shared_sources}
texts = {pathlib.Path(path).name: text for path, text in parts.items()}
for package, names in sorted({**static, **headers}.items()):
    name, source, build = about(package)
    text = f"{len(names)} headers" if package in headers else ", ".join(sorted(texts[part] for part in names))
    add(name, f"SPDXRef-static-{name.replace('+', 'x')}", "STATIC_LINK", versionInfo=build, licenseDeclared=license_of(source),
        supplier="Organization: Debian", sourceInfo=f"Debian's source package {source}", comment=text, externalRefs=locator(name, build))
for name, (source, libraries) in sorted(dynamic.items()):
    # Not a version, because the box has its own.
    wanted = f"; version {depends[name]}" if name in depends else ""
    add(name, f"SPDXRef-dynamic-{name.replace('+', 'x')}", "DYNAMIC_LINK", supplier="Organization: Debian",
        sourceInfo=f"Debian's source package {source}", comment=", ".join(sorted(libraries)) + wanted, externalRefs=locator(name, None))

document = {
    "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{PACKAGE}_{version}_{architecture}",
    "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: fleet-locationd-scripts-sbom.py"]},
    "packages": packages,
    "files": [{
        "SPDXID": "SPDXRef-program", "fileName": f"./usr/bin/{program.name}", "fileTypes": ["BINARY"], "licenseConcluded": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "checksums": [{"algorithm": kind.upper(), "checksumValue": hashlib.new(kind, content).hexdigest()} for kind in ("sha1", "sha256")],
    }],
    "relationships": relationships,
}
digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
document["documentNamespace"] = f"https://spdx.org/spdxdocs/{document['name']}-{digest[:32]}"
place = TREE / f"usr/share/doc/{PACKAGE}/{PACKAGE}.spdx.json"
place.write_text(json.dumps(document, indent=1) + "\n")
place.chmod(0o644)
