// SPDX-License-Identifier: Apache-2.0
import ControlTool
import EventLoop
import Glibc

// One file under two names: half the bytes over the air when a fleet is upgraded.
if CommandLine.arguments.first?.split(separator: "/").last == Substring(CommandLineTool.name) {
  exit(CommandLineTool.run(CommandLine.arguments))
}
// Before any thread exists: signals wait for the loop.
EventLoop.blockSignals()
exit(Program.run(CommandLine.arguments))
