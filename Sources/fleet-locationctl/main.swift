// SPDX-License-Identifier: Apache-2.0
import Glibc

exit(CommandLineTool.run(CommandLine.arguments))
