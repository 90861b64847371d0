// SPDX-License-Identifier: Apache-2.0
#include "CTOML.h"

#include <toml++/toml.h>
