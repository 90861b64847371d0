// SPDX-License-Identifier: Apache-2.0
// wcwidth(3) is an X/Open extension: Swift's Glibc module has its header without this function.
#define _GNU_SOURCE
#include "CLinux.h"

#include <locale.h>
#include <wchar.h>

int fleet_display_width(uint32_t character) {
  static locale_t unicode;
  // glibc has this locale built in, whatever is installed, and using it changes no other part of the program.
  if (unicode == (locale_t)0) unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  if (unicode == (locale_t)0) return character < 0x7f && character >= 0x20 ? 1 : -1;
  locale_t before = uselocale(unicode);
  int width = wcwidth((wchar_t)character);
  uselocale(before);
  return width;
}
