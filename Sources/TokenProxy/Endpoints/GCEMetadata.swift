// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The part of the metadata server of Google's virtual machines that has to do with tokens.
struct GCEMetadata {
    private static let root = "/computeMetadata/v1/instance/service-accounts/"

    private let service: EndpointService

    init(_ service: EndpointService) {
        self.service = service
    }

    func answer(_ call: EndpointCall, _ answered: @escaping (OwnAnswer) -> Void) {
        let reply: (OwnAnswer) -> Void = { answer in
            var answer = answer
            answer.fields.append(("Metadata-Flavor", "Google"))
            answered(answer)
        }
        // Libraries look here whether there is a server at all.
        guard call.path.bytewise != "/" else { return reply(GCEMetadata.text("computeMetadata/\n")) }
        guard call.request.only("metadata-flavor")?.spells("Google") == true else {
            return reply(GCEMetadata.text("Missing Metadata-Flavor:Google header.\n", status: 403))
        }
        guard call.path.bytewise.hasPrefix(GCEMetadata.root.bytewise) else {
            return reply(GCEMetadata.nothing)
        }
        let rest = call.path.dropFirst(GCEMetadata.root.count)
        // The account, and what is asked of it: nothing lies below that.
        let parts = rest.bytewise.split(on: "/", omittingEmpty: false)
        guard parts.count <= 2 else { return reply(GCEMetadata.nothing) }
        guard let account = parts.first, !account.isEmpty else {
            return reply(parts.count > 1 ? GCEMetadata.nothing : GCEMetadata.text("default/\n"))
        }
        service.ask(AgentRequest(.get, "sessions", service.session)) { result in
            switch result {
            case .failure(let error): reply(GCEMetadata.refusal(error))
            case .success(let response):
                let session = SessionMessage(parsing: response.body)
                let mail = session?.account.flatMap { $0.utf8.isVisibleWord ? $0 : nil } ?? "default"
                guard account.bytewise == "default" || account.bytewise == mail.bytewise else {
                    return reply(GCEMetadata.nothing)
                }
                answer(parts.dropFirst().first.map(String.init) ?? "", mail, call, reply)
            }
        }
    }

    /// Answers what is asked of the account.
    private func answer(
        _ item: String,
        _ mail: String,
        _ call: EndpointCall,
        _ reply: @escaping (OwnAnswer) -> Void
    ) {
        switch item.bytewise {
        case "": reply(account(mail, call))
        case "email": reply(GCEMetadata.text(mail))
        case "aliases": reply(GCEMetadata.text("default\n"))
        case "scopes": reply(GCEMetadata.text(call.rules.sessionScopes.map { $0 + "\n" }.joined()))
        case "token": token(call, reply)
        case "identity": identity(call, reply)
        default: reply(GCEMetadata.nothing)
        }
    }

    private func account(_ mail: String, _ call: EndpointCall) -> OwnAnswer {
        guard call.parameter("recursive")?.bytewise.lowercased == "true" else {
            return GCEMetadata.text("aliases\nemail\nidentity\nscopes\ntoken\n")
        }
        let object: JSONValue = [
            "aliases": .strings(["default"]), "email": .string(mail),
            "scopes": .strings(call.rules.sessionScopes),
        ]
        return OwnAnswer(200, "application/json", object.serialized)
    }

    private func token(_ call: EndpointCall, _ reply: @escaping (OwnAnswer) -> Void) {
        let wanted = (call.parameter("scopes") ?? "").utf8.split {
            $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ")
        }
        .map { String(Substring($0)) }
        guard !call.repeats("scopes"), let wish = call.rules.wish(scopes: wanted) else {
            return reply(
                GCEMetadata.text(
                    "The scopes are not ones that this endpoint gives out tokens for.\n",
                    status: 400
                )
            )
        }
        service.token(wish) { result in
            switch result {
            case .failure(let error): reply(GCEMetadata.refusal(error))
            case .success(let token):
                var object: JSONObject = ["access_token": .string(token.value), "token_type": "Bearer"]
                object["expires_in"] = .integer(token.expiresIn ?? 3600)
                reply(OwnAnswer(200, "application/json", JSONValue.object(object).serialized))
            }
        }
    }

    private func identity(_ call: EndpointCall, _ reply: @escaping (OwnAnswer) -> Void) {
        guard let audience = call.parameter("audience"), audience.utf8.isVisibleWord,
            let wish = call.rules.wish(ofIDTokenFor: audience)
        else {
            return reply(
                GCEMetadata.text(
                    "The audience is not one that this endpoint gives out tokens for.\n",
                    status: 400
                )
            )
        }
        service.token(wish, isID: true) { result in
            switch result {
            case .failure(let error): reply(GCEMetadata.refusal(error))
            case .success(let token): reply(GCEMetadata.identity(token.value, for: audience))
            }
        }
    }

    /// The ID token, if it is for `audience`: servers may give one that is for the client alone, whatever was asked for.
    static func identity(_ token: String, for audience: String) -> OwnAnswer {
        guard JWTParts(token)?.claims.audiences?.contains(audience.bytewise) == true else {
            return text("The server's ID token is not for this audience.\n", status: 400)
        }
        return text(token)
    }

    private static let nothing = text("Not Found\n", status: 404)

    private static func refusal(_ error: AgentError) -> OwnAnswer {
        text(error.description + "\n", status: OwnAnswer(error).status)
    }

    private static func text(_ text: String, status: Int = 200) -> OwnAnswer {
        OwnAnswer(status, "application/text", Array(text.utf8))
    }
}
