// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// Every command of `tokenctl` in one program that needs no other file.
@main
enum TokenctlCommands {
    static func main() {
        StartUp.protect()
        exit(CommandLineRun.status(status))
    }

    /// `get` is read by hand here too: the argument parser costs more than the whole request.
    private static func status() throws -> Int32 {
        guard let order = GetOptions.ofThisProcess() else {
            return try CommandTree.status(of: LinkName.arguments(of: CommandWords()))
        }
        try order.carryOut()
        return 0
    }
}
