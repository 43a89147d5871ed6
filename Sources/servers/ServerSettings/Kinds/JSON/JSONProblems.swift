// SPDX-License-Identifier: MIT

import Text

extension JSONBackEnd {
    package var problems: [ServerProfileError] {
        rules.problems(withCode: codeStep != nil) + codeProblems + constants.problems(besides: requestMembers)
    }

    /// The names of the members that requests have in addition to the constant ones.
    private var requestMembers: [String] {
        let names = rules.credentials
        let refreshToken = rules.responses.names.refreshToken
        guard let codeStep else { return [names.username, names.password, refreshToken] }
        return [names.username, names.code, refreshToken] + codeStep.carriedMembers
    }

    private var codeProblems: [ServerProfileError] {
        guard let codeStep else { return [] }
        var problems: [ServerProfileError] = []
        if loginURL == nil {
            problems.append(
                ServerProfileError("login_url", "required: the URL for the code that code_url sends")
            )
        }
        let carried = codeStep.carriedMembers.map(\.bytewise)
        if carried.count > CodeDeliveryStep.maximumCarried {
            problems.append(
                ServerProfileError(
                    "carry",
                    "must not contain more than \(CodeDeliveryStep.maximumCarried) names"
                )
            )
        }
        if Set(carried).count < carried.count {
            problems.append(ServerProfileError("carry", "must not contain a name twice"))
        }
        let own = [rules.credentials.username, rules.credentials.code].map(\.bytewise)
        if let name = carried.first(where: own.contains) {
            problems.append(
                ServerProfileError("carry", "must not contain \(name), which is always sent with the code")
            )
        }
        return problems
    }
}

extension JSONBackEndDialect {
    fileprivate func problems(withCode: Bool) -> [ServerProfileError] {
        let sent = [credentials.username, credentials.password] + (withCode ? [credentials.code] : [])
        return responses.problems(besides: sent)
            + refreshCodes.filter(logoutCodes.contains).map {
                ServerProfileError("logout_on", "must not share a code with refresh_on (\($0))")
            }
    }
}
