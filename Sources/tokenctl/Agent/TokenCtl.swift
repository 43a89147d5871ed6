// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// The command line client: arguments, one request, printing, an exit status.
@main
enum TokenCtl {
    static func main() {
        StartUp.protect()
        let words = StartUp.arguments
        exit(status(of: LinkName.arguments(Array(words.dropFirst()), calledAs: words.first ?? "")))
    }

    /// Does what the arguments say and answers the exit status.
    ///
    /// `get` with its own options is read by hand: it is what programs call all day, and the argument parser costs
    /// more than the whole request.
    private static func status(of arguments: [String]) -> Int32 {
        let wantsJSON = arguments.prefix { $0 != "--" }.contains("--json")
        let status = statusOrFailure(of: arguments, wantsJSON: wantsJSON)
        if status != 0, GetOrder.isForEval(arguments) { EvalFailure.print(status) }
        return status
    }

    private static func statusOrFailure(of arguments: [String], wantsJSON: Bool) -> Int32 {
        do {
            guard let order = GetOrder(reading: arguments) else {
                return try CommandTree.status(of: arguments)
            }
            try order.carryOut()
            return 0
        } catch let error as AgentError {
            return FailureReport.print(error, asJSON: wantsJSON)
        } catch {
            return FailureReport.print(AgentError(.internal, "\(error)"), asJSON: wantsJSON)
        }
    }
}
