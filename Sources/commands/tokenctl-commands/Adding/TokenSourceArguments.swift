// SPDX-License-Identifier: MIT

import ArgumentParser
import Text

/// The ways to obtain the tokens of a new session: by a login, or for an assertion.
enum NewSessionFlow: Equatable, ExpressibleByArgument {
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

    init(name: String, value: String) {
        (self.name, self.value) = (name, value)
    }

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
        help: ArgumentHelp("The port of the redirect URI, if the server requires one.", valueName: "n")
    )
    var redirectPort: Int?

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp("The redirect URI exactly as registered.", valueName: "url")
    )
    var redirectURI: String?

    @Option(
        help: ArgumentHelp("The prompt parameter of a login; an empty value omits it.", valueName: "word")
    )
    var prompt: String?

    @Option(
        name: .customLong("authorization-parameter"),
        help: ArgumentHelp(
            "An additional parameter of browser logins; repeatable.",
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
            throw ValidationError("--redirect-port cannot be combined with --redirect-uri")
        }
    }
}

/// The options for sessions without a login: the source of their tokens.
struct TokenSourceArguments: ParsableArguments {
    @Option(
        name: .customLong("from"),
        help: ArgumentHelp("The session whose token is exchanged.", valueName: "session")
    )
    var source: String?

    @Option(
        name: .customLong("assertion-file"),
        help: ArgumentHelp("A file with the assertion to exchange for tokens.", valueName: "file")
    )
    var assertionFile: String?

    @Option(
        name: .customLong("assertion-key-file"),
        help: ArgumentHelp("A file with the private key that signs assertions.", valueName: "file")
    )
    var assertionKeyFile: String?

    @Option(
        name: .customLong("assertion-key-id"),
        help: ArgumentHelp("The ID of that key at the server.", valueName: "id")
    )
    var assertionKeyID: String?

    @Option(
        name: .customLong("assertion-claim"),
        help: ArgumentHelp("A claim of the signed assertions; repeatable.", valueName: "name=value")
    )
    var claims: [NamedValue] = []

    @Option(
        name: .customLong("service-account-file"),
        help: ArgumentHelp("The JSON file of a Google service account.", valueName: "file")
    )
    var serviceAccountFile: String?

    @Option(
        name: .customLong("app-id"),
        help: ArgumentHelp("The number or client ID of the app, for --kind github_app.", valueName: "id")
    )
    var appID: String?

    @Option(
        help: ArgumentHelp(
            "The number or account of the installation, for --kind github_app.",
            valueName: "name"
        )
    )
    var installation: String?

    @Option(
        name: .customLong("key-file"),
        help: ArgumentHelp("The private key of the app, for --kind github_app.", valueName: "file")
    )
    var keyFile: String?

    @Option(
        name: .customLong("repository"),
        help: ArgumentHelp(
            "A repository to limit tokens to, for --kind github_app; repeatable.",
            valueName: "name"
        )
    )
    var repositories: [String] = []

    @Option(
        name: .customLong("permission"),
        help: ArgumentHelp(
            "A permission to limit tokens to, for --kind github_app; repeatable.",
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
        guard given.count < 2 else {
            throw ValidationError("\(given[0]) cannot be combined with \(given[1])")
        }
        guard assertionKeyFile != nil || assertionKeyID == nil && claims.isEmpty else {
            throw ValidationError("--assertion-key-id and --assertion-claim require --assertion-key-file")
        }
        let ofApps = [appID, installation, keyFile]
        guard ofApps.allSatisfy({ $0 == nil }) || ofApps.allSatisfy({ $0 != nil }) else {
            throw ValidationError("--app-id, --installation and --key-file require each other")
        }
        guard appID != nil || repositories.isEmpty && permissions.isEmpty else {
            throw ValidationError("--repository and --permission require --kind github_app")
        }
        try ClientArguments.check([
            ("--assertion-file", assertionFile), ("--assertion-key-file", assertionKeyFile),
            ("--service-account-file", serviceAccountFile), ("--key-file", keyFile),
        ])
    }
}
