// SPDX-License-Identifier: Apache-2.0
import ControlTool
import Glibc
import SystemCalls

// The process reads credentials and fetches tokens.
Environment.forbidCoreFiles()
exit(CommandLineTool.run(CommandLine.arguments))
