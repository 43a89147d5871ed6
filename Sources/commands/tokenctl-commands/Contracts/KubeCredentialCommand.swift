// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `kube-credential`, a credential plugin of Kubernetes clients (client-go, ExecCredential).
struct KubeCredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kube-credential",
        abstract: "Serve kubectl as its credential plugin.",
        discussion: """
            In a kubeconfig: exec with command tokenctl, args [kube-credential, work], apiVersion \
            client.authentication.k8s.io/v1 and interactiveMode Never.
            """
    )

    @Argument(help: .sessionName)
    var name: SessionArgument?

    @Flag(name: .customLong("id-token"), help: "Print the ID token, which OpenID Connect clusters require.")
    var wantsIDToken = false

    @OptionGroup var helper: HelperOptions

    func run() throws {
        let request = AgentPaths.variable("KUBERNETES_EXEC_INFO") ?? ""
        let session = name?.name ?? helper.session?.name
        try helper.answer(KubeContract(request, session: session, wantsIDToken: wantsIDToken))
    }
}

/// The contract with Kubernetes clients: the request in `KUBERNETES_EXEC_INFO`, and an ExecCredential as
/// response.
struct KubeContract: HelperContract {
    /// The version of the response if `KUBERNETES_EXEC_INFO` is absent.
    private static let currentVersion = "client.authentication.k8s.io/v1"

    private let request: JSONObject?
    private let session: String?
    private let wantsIDToken: Bool

    init(_ request: String, session: String?, wantsIDToken: Bool) {
        self.request = (try? JSONValue(parsing: request.utf8))?.object
        self.session = session
        self.wantsIDToken = wantsIDToken
    }

    /// The version of the response, which must be the one the client is configured with.
    private var version: String { request?["apiVersion"]?.string ?? KubeContract.currentVersion }

    func question() throws(AgentError) -> CredentialRequest? {
        let known = ["v1", "v1beta1"].map { "client.authentication.k8s.io/\($0)" }
        guard known.contains(version) else {
            throw AgentError(
                .badRequest,
                "unsupported apiVersion: \(version)",
                remedy: .set("apiVersion to \(known[0]) in the kubeconfig")
            )
        }
        var question = CredentialRequest(session: session, wantsIDToken: wantsIDToken)
        if let url = request?["spec"]?.object?["cluster"]?.object?["server"]?.string {
            question.server = ServerAddress(url)
            // An invalid address must not be treated like a missing one.
            guard question.server != nil else { return nil }
        }
        return question
    }

    var refusalSign: RejectionSign { .repetition(of: wantsIDToken ? "kube id" : "kube") }

    func answer(_ credential: HelperCredential) -> String {
        var status = JSONObject()
        status["token"] = .string(credential.token.value)
        status["expirationTimestamp"] = credential.token.expiresAt.map { .string(DurationPhrase.rfc3339($0)) }
        let reply: JSONValue = [
            "apiVersion": .string(version), "kind": "ExecCredential", "status": .object(status),
        ]
        return reply.text + "\n"
    }

    var nothing: HelperResponse {
        let error = AgentError(
            .notFound,
            "no session lists the server of this cluster in hosts",
            remedy: ConfigurationRemedy.change(.set("hosts in [session.NAME]"))
        )
        return HelperResponse(complaint: error, status: error.code.exitStatus)
    }
}
