// SPDX-License-Identifier: Apache-2.0
import ControlTool
import EventLoop
import Glibc
import SystemCalls

// The process holds tokens and credentials.
Environment.forbidCoreFiles()
// One executable with two names halves the size of an upgrade.
if CommandLine.arguments.first?.split(separator: "/").last == Substring(CommandLineTool.name) {
  exit(CommandLineTool.run(CommandLine.arguments))
}
// Before any thread exists, so that the event loop handles all signals.
EventLoop.blockSignals()
exit(Program.run(CommandLine.arguments))
