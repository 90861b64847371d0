#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a linked program independent of the directory that it was built in: reproducible.py PROGRAM...

Two things in it depend on that directory: the hashes that Swift's compiler keeps of each module (.swift_modhash), which nothing reads
after linking, are set to zero; and the build ID, which the linker computes from the whole file with its debugging information, becomes
the hash of the parts of the file that are loaded.
"""
import hashlib
import pathlib
import struct
import sys

PT_LOAD, NT_GNU_BUILD_ID = 1, 3


def sections(program: bytearray) -> dict[str, tuple[int, int]]:
    """The offset and size in the file of each section, by its name."""
    table, = struct.unpack_from("<Q", program, 0x28)
    size, count, names = struct.unpack_from("<HHH", program, 0x3A)
    entries = [struct.unpack_from("<IIQQQQ", program, table + index * size) for index in range(count)]
    strings = entries[names][4]
    found = {}
    for name, _, _, _, offset, length in entries:
        start = strings + name
        found[program[start:program.index(b"\0", start)].decode()] = (offset, length)
    return found


def segments(program: bytearray) -> list[tuple[int, int]]:
    """The offset and size in the file of each part that is loaded."""
    table, = struct.unpack_from("<Q", program, 0x20)
    size, count = struct.unpack_from("<HH", program, 0x36)
    entries = [struct.unpack_from("<IIQQQQ", program, table + index * size) for index in range(count)]
    return [(entry[2], entry[5]) for entry in entries if entry[0] == PT_LOAD]


for path in map(pathlib.Path, sys.argv[1:]):
    program = bytearray(path.read_bytes())
    if program[:6] != b"\x7fELF\x02\x01":
        sys.exit(f"{path}: is no 64-bit little-endian ELF file")
    found = sections(program)
    offset, length = found.get(".swift_modhash", (0, 0))
    program[offset:offset + length] = bytes(length)
    note, _ = found[".note.gnu.build-id"]
    name_size, id_size, kind = struct.unpack_from("<III", program, note)
    if kind != NT_GNU_BUILD_ID or id_size != hashlib.sha1().digest_size:
        sys.exit(f"{path}: has no build ID of 20 bytes (--build-id=sha1)")
    start = note + 12 + name_size
    program[start:start + id_size] = bytes(id_size)
    # The file's headers, in the first segment, say where the debugging information is.
    header = struct.unpack_from("<H", program, 0x34)[0]
    digest = hashlib.sha1(program[:0x28])
    for begin, size in segments(program):
        digest.update(program[max(begin, header):begin + size])
    program[start:start + id_size] = digest.digest()
    path.write_bytes(program)
