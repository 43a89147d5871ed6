// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The token part of the metadata server of Google's virtual machines.
struct GCEMetadata {
    private let service: CloudCredentialService

    init(_ service: CloudCredentialService) {
        self.service = service
    }

    func answer(_ call: EndpointRequest, _ answered: @escaping (LocalResponse) -> Void) {
        let reply: (LocalResponse) -> Void = { answer in
            var answer = answer
            answer.fields.append(("Metadata-Flavor", "Google"))
            answered(answer)
        }
        // Libraries request this path to detect the server.
        guard call.path.bytewise != "/" else { return reply(GCEMetadata.text("computeMetadata/\n")) }
        guard call.request.only("metadata-flavor")?.spells("Google") == true else {
            return reply(GCEMetadata.text("Missing Metadata-Flavor:Google header.\n", status: 403))
        }
        guard let path = GCEMetadataPath(call.path) else { return reply(GCEMetadata.nothing) }
        if case .project(let item) = path { return reply(GCEMetadata.project(item, call)) }
        service.ask(AgentRequest(.get, "sessions", service.session)) { result in
            switch result {
            case .failure(let error): reply(GCEMetadata.refusal(error))
            case .success(let response):
                let session = SessionMessage(parsing: response.body)
                let mail = session?.account.flatMap { $0.utf8.isVisibleWord ? $0 : nil } ?? "default"
                answer(path, mail, call, reply)
            }
        }
    }

    private func answer(
        _ path: GCEMetadataPath,
        _ mail: String,
        _ call: EndpointRequest,
        _ reply: @escaping (LocalResponse) -> Void
    ) {
        switch path {
        case .directory(let depth): reply(GCEMetadata.directory(depth, mail, call))
        case .project(let item): reply(GCEMetadata.project(item, call))
        case .account(let account, let item):
            guard account.bytewise == "default" || account.bytewise == mail.bytewise else {
                return reply(GCEMetadata.nothing)
            }
            answer(item, mail, call, reply)
        }
    }

    /// Answers a request for `item` of the account, or for its directory if `item` is `nil`.
    private func answer(
        _ item: String?,
        _ mail: String,
        _ call: EndpointRequest,
        _ reply: @escaping (LocalResponse) -> Void
    ) {
        switch item?.bytewise {
        case nil: reply(GCEMetadata.account(mail, call))
        case "email": reply(call.wantsJSON ? GCEMetadata.json(.string(mail)) : GCEMetadata.text(mail))
        case "aliases": reply(GCEMetadata.list(["default"], call))
        case "scopes": reply(GCEMetadata.list(call.rules.sessionScopes, call))
        case "token": token(call, reply)
        case "identity": identity(call, reply)
        default: reply(GCEMetadata.nothing)
        }
    }

    /// Returns a directory above the accounts, `depth` names below the root.
    ///
    /// A recursive request gets all that is below the directory as JSON.
    private static func directory(_ depth: Int, _ mail: String, _ call: EndpointRequest) -> LocalResponse {
        let names = Set(["default", mail]).sorted()
        guard call.isRecursive else {
            var below = GCEMetadataPath.above.dropFirst(depth).first.map { [$0.name] } ?? names
            if depth == GCEMetadataPath.projectDepth, call.rules.project != nil { below.append("project") }
            return text(below.map { "\($0)/\n" }.joined())
        }
        var accounts = JSONObject()
        for name in names { accounts[name] = whole(mail, call) }
        var content = JSONValue.object(accounts)
        for (place, step) in GCEMetadataPath.above.enumerated().dropFirst(depth).reversed() {
            var outer = JSONObject()
            outer[step.member] = content
            if place == GCEMetadataPath.projectDepth, let project = call.rules.project {
                outer["project"] = ["projectId": .string(project)]
            }
            content = .object(outer)
        }
        return json(content)
    }

    /// Returns `item` of the project, or its directory if `item` is `nil`.
    ///
    /// Without a project in the table the response is 404.
    private static func project(_ item: String?, _ call: EndpointRequest) -> LocalResponse {
        guard let project = call.rules.project else { return nothing }
        switch item?.bytewise {
        case nil: return call.isRecursive ? json(["projectId": .string(project)]) : text("project-id\n")
        case "project-id": return call.wantsJSON ? json(.string(project)) : text(project)
        default: return nothing
        }
    }

    private static func account(_ mail: String, _ call: EndpointRequest) -> LocalResponse {
        call.isRecursive ? json(whole(mail, call)) : text("aliases\nemail\nidentity\nscopes\ntoken\n")
    }

    /// Returns everything about the account except its tokens.
    private static func whole(_ mail: String, _ call: EndpointRequest) -> JSONValue {
        [
            "aliases": .strings(["default"]), "email": .string(mail),
            "scopes": .strings(call.rules.sessionScopes),
        ]
    }

    private static func list(_ words: [String], _ call: EndpointRequest) -> LocalResponse {
        call.wantsJSON ? json(.strings(words)) : text(words.map { $0 + "\n" }.joined())
    }

    private func token(_ call: EndpointRequest, _ reply: @escaping (LocalResponse) -> Void) {
        let wanted = (call.parameter("scopes") ?? "").utf8.split {
            $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ")
        }
        .map { String(Substring($0)) }
        guard !call.repeats("scopes"), let tokenRequest = call.rules.tokenRequest(scopes: wanted) else {
            return reply(
                GCEMetadata.text(
                    "This endpoint does not serve tokens for these scopes.\n",
                    status: 400
                )
            )
        }
        service.token(tokenRequest) { result in
            switch result {
            case .failure(let error): reply(GCEMetadata.refusal(error))
            case .success(let token):
                var object: JSONObject = ["access_token": .string(token.value), "token_type": "Bearer"]
                object["expires_in"] = .integer(token.expiresIn ?? 3600)
                reply(GCEMetadata.json(.object(object)))
            }
        }
    }

    private func identity(_ call: EndpointRequest, _ reply: @escaping (LocalResponse) -> Void) {
        guard let audience = call.parameter("audience"), audience.utf8.isVisibleWord,
            let tokenRequest = call.rules.tokenRequest(ofIDTokenFor: audience)
        else {
            return reply(
                GCEMetadata.text(
                    "This endpoint does not serve tokens for this audience.\n",
                    status: 400
                )
            )
        }
        service.token(tokenRequest, isID: true) { result in
            switch result {
            case .failure(let error): reply(GCEMetadata.refusal(error))
            case .success(let token): reply(GCEMetadata.identity(token.value, for: audience))
            }
        }
    }

    /// Returns the ID token if it is for `audience`, otherwise an error response.
    ///
    /// Servers may return an ID token for the client alone, whatever audience was requested.
    static func identity(_ token: String, for audience: String) -> LocalResponse {
        guard JWTParts(token)?.claims.audiences?.contains(audience.bytewise) == true else {
            return text("The server's ID token is not for this audience.\n", status: 400)
        }
        return text(token)
    }

    private static let nothing = text("Not Found\n", status: 404)

    private static func refusal(_ error: AgentError) -> LocalResponse {
        text(error.advised.description + "\n", status: LocalResponse.status(of: error.code)).telling(error)
    }

    private static func json(_ value: JSONValue) -> LocalResponse {
        LocalResponse(200, "application/json", value.serialized)
    }

    private static func text(_ text: String, status: Int = 200) -> LocalResponse {
        LocalResponse(status, "application/text", Array(text.utf8))
    }
}

/// A path of the metadata server.
enum GCEMetadataPath: Equatable {
    /// One of the directories in ``above``, given as the number of names that lead to it.
    case directory(Int)
    /// An item of a service account, such as its token, or the account's directory if `item` is `nil`.
    case account(String, item: String?)
    /// An item of the Google Cloud project, or the project's directory if `item` is `nil`.
    case project(item: String?)

    /// The number of names that lead to the directory that contains the project.
    static let projectDepth = 2

    /// The directories above the service accounts, with their names in JSON.
    static let above = [
        (name: "computeMetadata", member: "computeMetadata"), (name: "v1", member: "v1"),
        (name: "instance", member: "instance"), (name: "service-accounts", member: "serviceAccounts"),
    ]

    /// Parses a path, or returns `nil` if the path does not exist.
    ///
    /// The trailing slash of a directory is optional, because libraries omit it. Some encode the name of an
    /// account.
    init?(_ path: String) {
        let written = path.bytewise.split(on: "/", omittingEmpty: false).dropFirst()
        var names = written.compactMap { PercentCoding.decoded($0.utf8, plusIsBlank: false) }[...]
        guard names.count == written.count else { return nil }
        let isDirectory = names.last?.isEmpty == true
        if isDirectory { names.removeLast() }
        let above = GCEMetadataPath.above
        if names.dropFirst(GCEMetadataPath.projectDepth).first?.bytewise == "project",
            zip(names, above.prefix(GCEMetadataPath.projectDepth)).allSatisfy({
                $0.bytewise == $1.name.bytewise
            })
        {
            let rest = names.dropFirst(GCEMetadataPath.projectDepth + 1)
            guard rest.count <= 1, !rest.contains(""), rest.isEmpty || !isDirectory else { return nil }
            self = .project(item: rest.first)
            return
        }
        guard zip(names, above).allSatisfy({ $0.bytewise == $1.name.bytewise }) else { return nil }
        let rest = Array(names.dropFirst(above.count))
        guard !rest.contains(where: \.isEmpty) else { return nil }
        switch rest.count {
        case 0: self = .directory(names.count)
        case 1: self = .account(rest[0], item: nil)
        case 2 where !isDirectory: self = .account(rest[0], item: rest[1])
        default: return nil
        }
    }
}

extension EndpointRequest {
    /// Whether the request is for everything below a directory, which is returned as JSON.
    fileprivate var isRecursive: Bool { parameter("recursive")?.bytewise.lowercased == "true" }

    /// Whether the request is for a value as JSON.
    fileprivate var wantsJSON: Bool { parameter("alt")?.bytewise == "json" }
}
