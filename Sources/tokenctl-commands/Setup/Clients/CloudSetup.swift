// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The setup of programs of cloud providers.
enum CloudSetup {
    static func aws(_ wish: SetupRequest) throws(AgentError) -> SetupPlan {
        let session = try wish.sessionToName
        let named = try wish.optional("--name", wish.options.name, "the profile")
        let profile = named ?? (wish.isUndo ? nil : session)
        guard (wish.options.account == nil) == (wish.options.role == nil) else {
            throw AgentError(.badRequest, "--account and --role go together")
        }
        if let session, !wish.isUndo { try checkRole(of: session, wish) }
        var command = [wish.program, "aws", session ?? ""]
        for (option, value) in [("--account", wish.options.account), ("--role", wish.options.role)]
        where value != nil {
            command += [option, try wish.required(option, value, "which role")]
        }
        if !wish.isUndo, wish.options.file == nil { try checkRivals(of: profile ?? "", wish.places) }
        let block = TextBlock(
            file: wish.options.file ?? wish.places.file("AWS_CONFIG_FILE", ".aws/config"),
            mark: BlockMark("aws", profile, sessions: [session].compactMap(\.self)),
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
    private static func checkRivals(of profile: String, _ places: ClientPlaces) throws(AgentError) {
        let block = TextBlock(
            file: places.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
            mark: BlockMark("aws", profile, sessions: []),
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
    private static func checkRole(of session: String, _ wish: SetupRequest) throws(AgentError) {
        let known: SessionMessage
        do {
            known = try wish.endpoint.message(AgentRequest(.get, "sessions", session))
        } catch {
            throw error.about(session)
        }
        let isNamed = wish.options.role != nil
        let problem: String
        switch known.kind {
        case "aws_sso" where !isNamed: problem = "a session of kind aws_sso needs --account and --role"
        case "aws_role" where isNamed: problem = "--account and --role are for a session of kind aws_sso"
        // A restricted socket does not report the kind.
        case nil, "aws_sso", "aws_role": return
        case .some(let kind):
            problem = "a session of kind \(kind) has no role credentials: kinds aws_role and aws_sso have"
        }
        throw AgentError(.badRequest, problem, session: session)
    }

    static func gcloud(_ wish: SetupRequest) throws(AgentError) -> SetupPlan {
        let session = try wish.knownSession()
        let path = wish.options.file ?? wish.places.configuration("tokenagent/google-\(session).json")
        guard path.hasPrefix("/") else { throw AgentError(.badRequest, "--file must be an absolute path") }
        let source: JSONValue = [
            "executable": [
                "command": .string("\(wish.program) google \(session)"), "timeout_millis": 30_000,
            ]
        ]
        let purpose =
            "the provider, as in //iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/p"
        let audience = wish.isUndo ? "" : try wish.required("--audience", wish.options.audience, purpose)
        let account: JSONValue = [
            "type": "external_account", "audience": .string(audience),
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "token_url": "https://sts.googleapis.com/v1/token", "credential_source": source,
        ]
        guard wish.isUndo || audience.hasPrefix("//iam.googleapis.com/") else {
            throw AgentError(.badRequest, "--audience must be \(purpose)")
        }
        var changes: [any SetupChange] = [
            // Include the quote after the name, because another session's name may begin with this one.
            OwnFile(path: path, text: account.text + "\n", sign: "tokenctl google \(session)\"")
        ]
        let property = "auth/credential_file_override"
        if wish.places.program("gcloud") != nil {
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
                "the environment of gcloud and of programs needs GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1",
                "libraries take it by GOOGLE_APPLICATION_CREDENTIALS=\(path)",
            ]
        )
    }
}
