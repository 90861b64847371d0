// SPDX-License-Identifier: Apache-2.0
// A serial line without a wire, for tests.
#pragma once
#include <stddef.h>

/// Makes a pseudo-terminal. Returns the descriptor of the end that acts as the receiver, non-blocking, or -1; writes
/// the path of the other end, the device, into `path`.
int fleet_pty_open(char *path, size_t size);
