// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The setup of programs of cloud providers.
enum CloudSetup {
    static func aws(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let session = try request.sessionToName
        let named = try request.optional("--name", request.options.name, "the profile")
        let profile = named ?? (request.isUndo ? nil : session)
        guard (request.options.account == nil) == (request.options.role == nil) else {
            throw AgentError(.badRequest, "--account and --role must be used together")
        }
        if let session, !request.isUndo { try checkRole(of: session, request) }
        var command = [request.program, "aws", session ?? ""]
        for (option, value) in [("--account", request.options.account), ("--role", request.options.role)]
        where value != nil {
            command += [option, try request.required(option, value, "the role")]
        }
        if !request.isUndo, request.options.file == nil { try checkRivals(of: profile ?? "", request.places) }
        let block = TextBlock(
            file: request.options.file ?? request.places.file("AWS_CONFIG_FILE", ".aws/config"),
            mark: BlockIdentifier("aws", profile, sessions: [session].compactMap(\.self)),
            place: profile == "default"
                ? .section("[default]", synonym: "[profile default]")
                : .section("[profile \(profile ?? "")]"),
            lines: ["credential_process = \(command.joined(separator: " "))"],
            ours: ["credential_process = */tokenctl aws *"],
            keys: CloudSetup.rivals
        )
        let get = ["aws", "configure", "get", "credential_process", "--profile", profile ?? ""]
        return SetupPlan(
            changes: [block],
            checks: [SetupCheck(command: get, answer: "tokenctl aws")],
            notes: ["use it with: aws --profile \(profile ?? "")"]
        )
    }

    /// The keys that AWS programs prefer to `credential_process`, in a profile of either file.
    private static let rivals = [
        "credential_process", "role_arn", "source_profile", "web_identity_token_file", "sso_session",
        "sso_start_url",
        "aws_access_key_id",
    ]

    /// Checks that the other file with profiles has no such keys for this one.
    private static func checkRivals(of profile: String, _ places: ClientPaths) throws(AgentError) {
        let block = TextBlock(
            file: places.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
            mark: BlockIdentifier("aws", profile, sessions: []),
            place: .section("[\(profile)]"),
            lines: [],
            ours: [],
            keys: rivals
        )
        _ = try block.isMade()
    }

    /// Asks the agent whether `tokenctl aws` can print credentials for the session.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if it never can.
    private static func checkRole(of session: String, _ request: SetupRequest) throws(AgentError) {
        let known: SessionMessage
        do {
            known = try request.endpoint.message(AgentRequest(.get, "sessions", session))
        } catch {
            throw error.about(session)
        }
        let isNamed = request.options.role != nil
        let problem: String
        switch known.kind {
        case "aws_sso" where !isNamed: problem = "a session of kind aws_sso requires --account and --role"
        case "aws_role" where isNamed: problem = "--account and --role require a session of kind aws_sso"
        // A restricted socket does not report the kind.
        case nil, "aws_sso", "aws_role": return
        case .some(let kind):
            problem = "a session of kind \(kind) has no role credentials, only kinds aws_role and aws_sso"
        }
        throw AgentError(.badRequest, problem, session: session)
    }

    static func gcloud(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let session = try request.knownSession()
        let path = request.options.file ?? request.places.configuration("tokenagent/google-\(session).json")
        guard path.hasPrefix("/") else { throw AgentError(.badRequest, "--file must be an absolute path") }
        let source: JSONValue = [
            "executable": [
                "command": .string("\(request.program) google \(session)"), "timeout_millis": 30_000,
            ]
        ]
        let remedy = Remedy.set(
            "--audience to //iam.googleapis.com/projects/N/locations/global/workloadIdentityPools/POOL/providers/P"
        )
        let audience =
            request.isUndo
            ? ""
            : try request.required("--audience", request.options.audience, "the provider", remedy: remedy)
        let account: JSONValue = [
            "type": "external_account", "audience": .string(audience),
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "token_url": "https://sts.googleapis.com/v1/token", "credential_source": source,
        ]
        guard request.isUndo || audience.hasPrefix("//iam.googleapis.com/") else {
            throw AgentError(.badRequest, "--audience must be a workload identity provider", remedy: remedy)
        }
        var changes: [any SetupChange] = [
            // Include the quote after the name, because another session's name may begin with this one.
            OwnFile(path: path, text: account.text + "\n", sign: "tokenctl google \(session)\"")
        ]
        let property = "auth/credential_file_override"
        if request.places.program("gcloud") != nil {
            changes.append(
                ProgramSetting(
                    set: ["gcloud", "config", "set", property, path],
                    unset: ["gcloud", "config", "unset", property],
                    get: ["gcloud", "config", "get-value", property],
                    value: path,
                    absent: "(unset)"
                )
            )
        }
        return SetupPlan(
            changes: changes,
            notes: [
                "programs require GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 in their environment",
                "libraries find it by GOOGLE_APPLICATION_CREDENTIALS=\(path)",
            ]
        )
    }
}
