#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists what a built program was linked from, for the list of its components (sbom.py): linked.py BINDIR PROGRAM > FILE

Links the program again from the same objects, with the linker's own lists switched on, and compares the result with the built one byte for
byte. The list, in JSON: the compiler's version; the archives that something was taken from, and how many of their members; the objects that
are not the project's; and the headers of other packages that its objects of C and C++ were compiled with.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

binaries, program = sys.argv[1:]
built = pathlib.Path(binaries).resolve() / program
manifest = built.parent.parent.parent / "release.yaml"
link = re.search(rf'^  "C\.{re.escape(program)}-[^"]*release\.exe":\n(?:    .*\n)*?    args: (\[.*\])$', manifest.read_text(), re.M)
if not link:
    sys.exit(f"{manifest} does not say how {program} is linked: make build")
arguments = json.loads(link[1])
root = next(directory for directory in manifest.parents if (directory / "Package.swift").exists())
with tempfile.TemporaryDirectory() as work:
    again, inputs, archives = (pathlib.Path(work, name) for name in (program, "inputs", "archives"))
    arguments[arguments.index("-o") + 1] = str(again)
    for option in (f"--dependency-file={inputs}", f"--print-archive-stats={archives}"):
        arguments += ["-Xlinker", option]
    subprocess.run(arguments, cwd=root, check=True)
    if again.read_bytes() != built.read_bytes():
        sys.exit(f"{built} is not what its objects are linked to: make build")
    files = [line.strip().removesuffix("\\").strip() for line in inputs.read_text().split("\n\n")[0].splitlines()[1:]]
    taken = {}
    for line in archives.read_text().splitlines()[1:]:
        _, count, archive = line.split("\t")
        taken[archive] = taken.get(archive, 0) + int(count)

# The linker's list of archives has the requested name, and its list of inputs has the name that it was remapped to.
remapped = {old: new for old, new in (option.removeprefix("--remap-inputs=*/").split("=") for option in arguments
                                      if option.startswith("--remap-inputs="))}
archives = {str(pathlib.Path(path).with_name(pathlib.Path(remapped.get(pathlib.Path(path).name, path)).name)): count
            for path, count in taken.items() if count}
objects = [path for path in files if path.endswith(".o") and ".build" not in pathlib.Path(path).parts]
own = [path for path in files if path.endswith(".o") and ".build" in pathlib.Path(path).parts]
headers = set()
for path in own:
    dependencies = pathlib.Path(path).with_suffix(".d")
    if dependencies.exists() and not path.endswith(".swift.o"):
        headers.update(word for word in dependencies.read_text().replace("\\\n", " ").split() if word.startswith("/usr/include/"))
version = subprocess.run([arguments[0], "--version"], cwd=root, check=True, capture_output=True, text=True).stdout
print(json.dumps({
    "compiler": re.search(r"Swift version (\S+)", version)[1],
    "archives": archives, "objects": sorted(objects), "headers": sorted(headers), "own": len(own),
}, indent=1))
