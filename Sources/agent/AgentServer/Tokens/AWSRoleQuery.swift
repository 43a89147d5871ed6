// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The parameters of `GET …/aws`: the role, the minimum validity of its credentials, and the timeout.
struct AWSRoleQuery: Equatable {
    /// The requested credentials, as a token query.
    let wanted: TokenQuery

    /// Parses a query for the session `name`, whose roles are described by `roles`.
    ///
    /// - Throws: ``RequestFailure`` if the session has no role or a parameter is invalid.
    init(_ query: some StringProtocol, of name: SessionName, _ roles: AWSRoleTokens) throws(RequestFailure) {
        if roles == .none { throw .noRole(of: name) }
        guard let parameters = query.isEmpty ? [] : RequestTargetParser.parameters(of: query) else {
            throw .queryNotEncoded
        }
        let account = try Self.value(of: "account", in: parameters)
        let role = try Self.value(of: "role", in: parameters)
        var wanted = try TokenQuery(parameters.filter { !["account", "role"].contains($0.name) })
        guard wanted == TokenQuery(minimumValidity: wanted.minimumValidity, timeout: wanted.timeout) else {
            let message = "unknown parameter (parameters: min_valid, timeout, account, role)"
            throw RequestFailure(code: .badRequest, message: message, session: name)
        }
        switch roles {
        case .none: break
        case .own where account == nil && role == nil: break
        case .own:
            let message = "account and role are set in the configuration"
            throw RequestFailure(
                code: .badRequest,
                message: message,
                session: name,
                remedy: .run("tokenctl aws \(name)")
            )
        case .variants: wanted.variant = try Self.role(account, role, of: name).variant
        }
        self.wanted = wanted
    }

    private static func value(
        of name: ByteText,
        in parameters: [(name: ByteText, value: String)]
    ) throws(RequestFailure) -> String? {
        let values = parameters.filter { $0.name == name }.map(\.value)
        guard values.count <= 1 else { throw .repeatedParameter }
        return values.first
    }

    private static func role(
        _ account: String?,
        _ role: String?,
        of name: SessionName
    ) throws(RequestFailure) -> AssignedAWSRole {
        guard let account, let role else { throw .unnamedRole(of: name) }
        guard AssignedAWSRole.isAccount(account) else {
            let message = "account must be 12 digits"
            throw RequestFailure(code: .badRequest, message: message, session: name)
        }
        guard let role = AssignedAWSRole(account: account, name: role) else {
            let message = "role must be 1 to 64 letters, digits or characters of _+=,.@-"
            throw RequestFailure(code: .badRequest, message: message, session: name)
        }
        return role
    }
}

extension RequestFailure {
    static let queryNotEncoded = RequestFailure(
        code: .badRequest,
        message: "the query of the request is not percent-encoded correctly"
    )
    static let repeatedParameter = RequestFailure(
        code: .badRequest,
        message: "duplicate parameter"
    )

    /// Returns the failure of a request that must name one of several roles.
    static func unnamedRole(of name: SessionName) -> RequestFailure {
        RequestFailure(
            code: .badRequest,
            message: "account and role are required: the session has several roles",
            session: name,
            remedy: .run("tokenctl aws \(name) --account ID --role NAME")
        )
    }
}
