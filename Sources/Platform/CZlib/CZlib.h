// SPDX-License-Identifier: Apache-2.0
#pragma once
#define ZLIB_CONST
#include <zlib.h>

/* deflateInit2 and inflateInit2 are macros. */
static inline int fleet_deflate_init(z_streamp stream, int level, int window_bits, int memory_level) {
  return deflateInit2(stream, level, Z_DEFLATED, window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

static inline int fleet_inflate_init(z_streamp stream, int window_bits) { return inflateInit2(stream, window_bits); }
