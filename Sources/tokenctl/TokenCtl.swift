// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// The command line client as programs call it all day: `get`, and nothing that costs time at the start.
///
/// Every other command is in `tokenctl-commands`, which takes this process over.
@main
enum TokenCtl {
    static func main() {
        exit(CommandLineRun.status(status))
    }

    private static func status() throws(AgentError) -> Int32 {
        guard let order = GetOptions.ofThisProcess() else { throw OtherCommands.takeOver() }
        StartUp.protect()
        try order.carryOut()
        return 0
    }
}
