// SPDX-License-Identifier: Apache-2.0
#include "CLinux.h"

int64_t fleet_build_epoch(void) { return FLEET_BUILD_EPOCH; }
