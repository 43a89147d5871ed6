// SPDX-License-Identifier: MIT

import AgentProtocol

/// One run of a command: its error report and exit status.
package enum CommandLineRun {
    /// Runs a command and reports its error in the format that this process's arguments select.
    ///
    /// - Returns: The exit status.
    package static func status(_ carryOut: () throws -> Int32) -> Int32 {
        do {
            let status = try carryOut()
            return status == 0 ? 0 : ended(status, HelperLinkNames.arguments(of: ProcessArguments()))
        } catch let error as AgentError {
            return report(error)
        } catch {
            return report(AgentError(.internal, "\(error)"))
        }
    }

    private static func report(_ error: AgentError) -> Int32 {
        let arguments = HelperLinkNames.arguments(of: ProcessArguments())
        let wantsJSON = arguments.prefix { $0 != "--" }.contains("--json")
        return ended(FailureReport.print(error, asJSON: wantsJSON), arguments)
    }

    private static func ended(_ status: Int32, _ arguments: [String]) -> Int32 {
        if GetOptions.isForEval(arguments) { EvalFailure.print(status) }
        return status
    }
}
