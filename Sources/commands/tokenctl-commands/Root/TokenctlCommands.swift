// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// The program with every command of `tokenctl`.
///
/// `tokenctl` replaces itself with this program for every command but `get`. Copied as `tokenctl`, this
/// program needs no other file (`make tokenctl-full`). Each command is one file, in the folder of its
/// subject.
///
/// - Entry points: ``RootCommand``, and ``HelperContract`` for commands that other programs call.
/// - May not: send HTTP requests to servers; the agent, curl, `tokenagent-proxy` and `tokenagent-mcp` do
///   that.
@main
enum TokenctlCommands {
    static func main() {
        ClientProcessHardening.protect()
        exit(CommandLineRun.status(status))
    }

    /// Runs the command, and parses `get` by hand, because the argument parser takes longer than the whole
    /// request.
    private static func status() throws -> Int32 {
        guard let order = GetOptions.ofThisProcess() else {
            return try RootCommand.status(of: HelperLinkNames.arguments(of: ProcessArguments()))
        }
        try order.carryOut()
        return 0
    }
}
