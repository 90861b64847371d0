// SPDX-License-Identifier: Apache-2.0
import Release

print(Release.banner("fleet-engine-emulator"), terminator: "")
