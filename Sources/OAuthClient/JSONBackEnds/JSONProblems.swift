// SPDX-License-Identifier: MIT

import Text

extension JSONBackEnd {
    /// The errors that are visible without asking the back end.
    var problems: [ServerProfileError] {
        rules.problems(withCode: codeStep != nil) + codeProblems + constants.problems(besides: requestMembers)
    }

    /// The members that requests have without constants.
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
                ServerProfileError("login_url", "is missing: where the code that code_url sends goes to")
            )
        }
        let carried = codeStep.carriedMembers.map(\.bytewise)
        if carried.count > CodeStep.maximumCarried {
            problems.append(
                ServerProfileError("carry", "must not hold more than \(CodeStep.maximumCarried) names")
            )
        }
        if Set(carried).count < carried.count {
            problems.append(ServerProfileError("carry", "must not hold a name twice"))
        }
        let own = [rules.fields.username, rules.fields.code].map(\.bytewise)
        if let name = carried.first(where: own.contains) {
            problems.append(
                ServerProfileError("carry", "must not hold \(name), which goes with the code anyway")
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
