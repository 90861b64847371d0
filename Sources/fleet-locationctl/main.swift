// SPDX-License-Identifier: Apache-2.0
import ControlTool
import Glibc

exit(CommandLineTool.run(CommandLine.arguments))
