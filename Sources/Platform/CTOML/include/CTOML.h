// SPDX-License-Identifier: Apache-2.0
// toml++ behind a C header.
#pragma once
