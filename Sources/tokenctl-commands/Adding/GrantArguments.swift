// SPDX-License-Identifier: MIT

import ArgumentParser
import Text

/// The ways to obtain the tokens of a new session: by a login, or for an assertion.
enum AddedFlow: Equatable, ExpressibleByArgument {
    case login(LoginCommand.Flow)
    case jwtBearer

    private static let jwtBearerName = "jwt_bearer"

    init?(argument: String) {
        if argument.bytewise == Self.jwtBearerName.bytewise {
            self = .jwtBearer
        } else if let flow = LoginCommand.Flow(argument: argument) {
            self = .login(flow)
        } else {
            return nil
        }
    }

    static var allValueStrings: [String] { LoginCommand.Flow.allCases.map(\.rawValue) + [jwtBearerName] }
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    /// The flow of the login, or `nil` if the session has no login.
    var ofLogin: LoginCommand.Flow? {
        if case .login(let flow) = self { flow } else { nil }
    }
}

/// A name and a value, as in `hd=example.com`.
struct NamedValue: Equatable, ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        let parts = argument.bytewise.split(on: "=", maxSplits: 1, omittingEmpty: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        (name, value) = (String(parts[0]), String(parts[1]))
    }
}

/// The options for keys that affect the authorization request of a login in the browser.
struct AuthorizationArguments: ParsableArguments {
    @Option(
        name: .customLong("redirect-port"),
        help: ArgumentHelp("The port of the redirect address, if the server wants one.", valueName: "n")
    )
    var redirectPort: Int?

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp("The redirect address exactly as registered.", valueName: "url")
    )
    var redirectURI: String?

    @Option(help: ArgumentHelp("The parameter prompt of a login; empty: none is sent.", valueName: "word"))
    var prompt: String?

    @Option(
        name: .customLong("authorization-parameter"),
        help: ArgumentHelp(
            "A further parameter of a login in the browser; repeatable.",
            valueName: "name=value"
        )
    )
    var parameters: [NamedValue] = []

    /// The keys that are written as given.
    var lines: [DraftLine] {
        [DraftLine("prompt", prompt), DraftLine("authorization_parameters", parameters)].compactMap(\.self)
    }

    func validate() throws {
        guard redirectPort == nil || redirectURI == nil else {
            throw ValidationError("--redirect-port and --redirect-uri exclude each other")
        }
    }
}

/// The options for sessions without a login: the source of their tokens.
struct GrantArguments: ParsableArguments {
    @Option(
        name: .customLong("from"),
        help: ArgumentHelp("The session whose token is exchanged for this one's.", valueName: "session")
    )
    var source: String?

    @Option(
        name: .customLong("assertion-file"),
        help: ArgumentHelp("A file that holds the assertion to get tokens for.", valueName: "file")
    )
    var assertionFile: String?

    @Option(
        name: .customLong("assertion-key-file"),
        help: ArgumentHelp("A file that holds the private key that signs assertions.", valueName: "file")
    )
    var assertionKeyFile: String?

    @Option(
        name: .customLong("assertion-key-id"),
        help: ArgumentHelp("The name of that key at the server.", valueName: "id")
    )
    var assertionKeyID: String?

    @Option(
        name: .customLong("assertion-claim"),
        help: ArgumentHelp("A claim of assertions that are signed here; repeatable.", valueName: "name=value")
    )
    var claims: [NamedValue] = []

    @Option(
        name: .customLong("service-account-file"),
        help: ArgumentHelp("The JSON file of a service account of Google.", valueName: "file")
    )
    var serviceAccountFile: String?

    @Option(
        name: .customLong("app-id"),
        help: ArgumentHelp("For --kind github_app: the app's number or client ID.", valueName: "id")
    )
    var appID: String?

    @Option(
        help: ArgumentHelp(
            "For --kind github_app: the installation's number, or the account it is on.",
            valueName: "name"
        )
    )
    var installation: String?

    @Option(
        name: .customLong("key-file"),
        help: ArgumentHelp("For --kind github_app: the app's private key.", valueName: "file")
    )
    var keyFile: String?

    @Option(
        name: .customLong("repository"),
        help: ArgumentHelp("For --kind github_app: only this repository; repeatable.", valueName: "name")
    )
    var repositories: [String] = []

    @Option(
        name: .customLong("permission"),
        help: ArgumentHelp(
            "For --kind github_app: only this permission; repeatable.",
            valueName: "name=level"
        )
    )
    var permissions: [NamedValue] = []

    /// Whether these options select an assertion.
    var hasAssertion: Bool { assertionFile != nil || assertionKeyFile != nil || serviceAccountFile != nil }

    /// The keys that are written as given.
    var lines: [DraftLine] {
        let lines = [
            DraftLine("assertion_file", assertionFile), DraftLine("assertion_key_file", assertionKeyFile),
            DraftLine("assertion_key_id", assertionKeyID), DraftLine("assertion_claims", claims),
            DraftLine("service_account_file", serviceAccountFile), DraftLine("app_id", appID),
            DraftLine("installation", installation), DraftLine("key_file", keyFile),
            DraftLine("repositories", repositories), DraftLine("permissions", permissions),
        ]
        return lines.compactMap(\.self)
    }

    func validate() throws {
        let sources = [
            ("--from", source), ("--assertion-file", assertionFile),
            ("--assertion-key-file", assertionKeyFile),
            ("--service-account-file", serviceAccountFile),
        ]
        let given = sources.filter { $0.1 != nil }.map(\.0)
        guard given.count < 2 else { throw ValidationError("\(given[0]) and \(given[1]) exclude each other") }
        guard assertionKeyFile != nil || assertionKeyID == nil && claims.isEmpty else {
            throw ValidationError("--assertion-key-id and --assertion-claim go with --assertion-key-file")
        }
        let ofApps = [appID, installation, keyFile]
        guard ofApps.allSatisfy({ $0 == nil }) || ofApps.allSatisfy({ $0 != nil }) else {
            throw ValidationError("--app-id, --installation and --key-file go together")
        }
        guard appID != nil || repositories.isEmpty && permissions.isEmpty else {
            throw ValidationError("--repository and --permission go with --kind github_app")
        }
        try ClientArguments.check([
            ("--assertion-file", assertionFile), ("--assertion-key-file", assertionKeyFile),
            ("--service-account-file", serviceAccountFile), ("--key-file", keyFile),
        ])
    }
}
