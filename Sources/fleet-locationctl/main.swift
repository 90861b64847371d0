// SPDX-License-Identifier: Apache-2.0
import ControlTool
import Glibc
import SystemCalls

// It reads credentials and fetches tokens.
Environment.forbidCoreFiles()
exit(CommandLineTool.run(CommandLine.arguments))
