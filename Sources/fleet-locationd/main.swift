// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

// Before any thread exists: signals wait for the loop.
EventLoop.blockSignals()
exit(Program.run(CommandLine.arguments))
