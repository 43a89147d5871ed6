// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// The command line client for programs, which contains `get` and nothing that slows its start.
///
/// Programs run `tokenctl get` all day. `tokenctl-commands` has every other command and replaces this
/// process.
///
/// - Entry points: `main`, which reads `get` with ``GetOptions`` and otherwise calls ``CommandsProgram``.
/// - May not: link the argument parser or any other module that makes the start slower.
@main
enum TokenCtl {
    static func main() {
        exit(CommandLineRun.status(status))
    }

    private static func status() throws(AgentError) -> Int32 {
        guard let order = GetOptions.ofThisProcess() else {
            throw TokenctlCommandsExecutable.execReplacement()
        }
        ClientProcessHardening.protect()
        try order.carryOut()
        return 0
    }
}
