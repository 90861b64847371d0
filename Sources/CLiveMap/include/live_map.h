// SPDX-License-Identifier: Apache-2.0
// The files of the folder LiveMap of the emulator. In Swift, an array of 102,000 bytes takes ten seconds to compile.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// A file of the live map's page, built into the program.
struct live_map_file {
  const char *name;
  const uint8_t *bytes;
  size_t count;
};

/// All files, in alphabetical order; the last one is followed by one whose name is NULL.
const struct live_map_file *live_map_files(void);
