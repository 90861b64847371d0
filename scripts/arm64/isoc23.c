// SPDX-License-Identifier: Apache-2.0
// Since glibc 2.38 its headers give these functions of C other names, as C23 reads binary digits too. Swift's library for
// arm64 is compiled with such headers; Debian 12 has glibc 2.36. So the new names lead to the old functions here. No call
// of ours comes this way: C of our own is compiled with the headers of Debian 12.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }
long long __isoc23_strtoll(const char *text, char **end, int base) { return strtoll(text, end, base); }
unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return strtoul(text, end, base); }
unsigned long long __isoc23_strtoull(const char *text, char **end, int base) { return strtoull(text, end, base); }

int __isoc23_sscanf(const char *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int count = vsscanf(text, format, arguments);
  va_end(arguments);
  return count;
}
