// SPDX-License-Identifier: Apache-2.0
#include "CLinux.h"

#include <sys/prctl.h>

// prctl cannot fail with this argument.
void fleet_forbid_core_files(void) { prctl(PR_SET_DUMPABLE, 0); }
