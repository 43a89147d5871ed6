// SPDX-License-Identifier: MIT

import Text

extension JSONBackEnd {
    /// The errors in the configuration of the back end that can be found without a request.
    package var problems: [ServerProfileError] {
        rules.problems(withCode: codeStep != nil) + codeProblems + constants.problems(besides: requestMembers)
    }

    /// The names of the members that requests have in addition to the constant ones.
    private var requestMembers: [String] {
        let fields = rules.fields
        guard let codeStep else { return [fields.username, fields.password, fields.refreshToken] }
        return [fields.username, fields.code, fields.refreshToken] + codeStep.carriedMembers
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
        let own = [rules.fields.username, rules.fields.code].map(\.bytewise)
        if let name = carried.first(where: own.contains) {
            problems.append(
                ServerProfileError("carry", "must not contain \(name), which is always sent with the code")
            )
        }
        return problems
    }
}

extension JSONRules {
    fileprivate func problems(withCode: Bool) -> [ServerProfileError] {
        let tokens = [fields.accessToken, fields.refreshToken]
        let names =
            tokens + [
                fields.username, fields.password, fields.expiresIn, fields.refreshExpiresIn,
                fields.requiresReauth,
            ] + (withCode ? [fields.code] : [])
        let areAmbiguous = Set(names.map(\.bytewise)).count < names.count || names.contains("")
        return
            (areAmbiguous ? [ServerProfileError("fields", "must be names that differ from each other")] : [])
            + keptMembers.filter(tokens.contains).map {
                ServerProfileError("keep", "must not name a token (\($0))")
            }
            + refreshCodes.filter(logoutCodes.contains).map {
                ServerProfileError("logout_on", "must not share a code with refresh_on (\($0))")
            }
    }
}
