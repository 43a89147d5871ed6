// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The setup of package managers and build tools.
enum PackageSetup {
    static func pip(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let block = TextBlock(
            file: request.options.file ?? pipFile(request.places),
            mark: BlockIdentifier("pip"),
            place: .section("[global]"),
            lines: ["keyring-provider = subprocess"],
            ours: ["keyring-provider = subprocess"],
            keys: ["keyring-provider", "keyring_provider"],
            // The settings of a command precede the global ones.
            isRivalSection: { pipSections.contains($0) }
        )
        let links = try request.link(inPathAs: "keyring", sharedBy: uvFile(request.places))
        let changes: [any SetupChange] = [block] + links
        return SetupPlan(
            changes: changes,
            checks: [
                SetupCheck(
                    command: ["pip", "config", "get", "global.keyring-provider"],
                    answer: "subprocess"
                )
            ],
            notes: request.note(on: links) + [
                "pip gets tokens only for servers that a session lists in hosts"
            ]
        )
    }

    static func uv(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let block = TextBlock(
            file: request.options.file ?? uvFile(request.places),
            mark: BlockIdentifier("uv"),
            place: .top,
            lines: ["keyring-provider = \"subprocess\""],
            ours: ["keyring-provider = \"subprocess\""],
            keys: ["keyring-provider"],
            isTOML: true
        )
        let links = try request.link(inPathAs: "keyring", sharedBy: pipFile(request.places))
        let hint =
            "uv requires a user name in the URL of the index: https://oauth2@packages.example.com/simple"
        let changes: [any SetupChange] = [block] + links
        return SetupPlan(changes: changes, notes: request.note(on: links) + [hint])
    }

    private static let pipSections = ["[install]", "[download]", "[wheel]", "[index]", "[lock]"]
        .compactMap { SectionHeader($0) }

    private static func pipFile(_ places: ClientPaths) -> String {
        let usual = [places.configuration("pip/pip.conf"), places.home + "/.pip/pip.conf"]
        return places.file("PIP_CONFIG_FILE", places.present(usual))
    }

    private static func uvFile(_ places: ClientPaths) -> String {
        places.file("UV_CONFIG_FILE", places.configuration("uv/uv.toml"))
    }

    static func cargo(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let session = try request.isUndo ? request.session : request.knownSession()
        let purpose = "the name of the registry in cargo's configuration"
        var registry = try request.optional("--name", request.options.name, purpose)
        if !request.isUndo { registry = try request.required("--name", registry, purpose) }
        let home = request.places.file("CARGO_HOME", ".cargo")
        let words = ["cargo:token-from-stdout", request.program, "get", session ?? "", "--format", "bearer"]
        let block = TextBlock(
            file: request.options.file ?? request.places.present([home + "/config.toml", home + "/config"]),
            mark: BlockIdentifier("cargo", registry, sessions: [session].compactMap(\.self)),
            place: .section("[registries.\(registry ?? "")]"),
            lines: ["credential-provider = [\(words.map { "\"\($0)\"" }.joined(separator: ", "))]"],
            ours: ["credential-provider = [\"cargo:token-from-stdout\", \"*/tokenctl\", \"get\", *]"],
            keys: ["credential-provider"],
            isTOML: true
        )
        let hint =
            "the token is sent as \"Bearer TOKEN\"; without \"--format\", \"bearer\" it is sent as \"TOKEN\""
        return SetupPlan(changes: [block], notes: [hint])
    }

    static func go(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        if !request.isUndo, request.options.file == nil {
            try checkEnvironmentOfGo()
            if request.places.program("go") != nil { try checkVersionOfGo() }
        }
        let block = TextBlock(
            file: request.options.file
                ?? request.places.file("GOENV", request.places.configuration("go/env")),
            mark: BlockIdentifier("go"),
            place: .end,
            lines: ["GOAUTH=\(request.program) goauth"],
            ours: ["GOAUTH=*/tokenctl goauth"],
            keys: ["GOAUTH"]
        )
        return SetupPlan(
            changes: [block],
            checks: [SetupCheck(command: ["go", "env", "GOAUTH"], answer: "tokenctl goauth")],
            notes: ["go gets tokens only for servers that a session lists in hosts"]
        )
    }

    /// Checks that go reads its file for the setting, which the environment could prevent.
    private static func checkEnvironmentOfGo() throws(AgentError) {
        let isSet = AgentPaths.variable("GOAUTH")?.isEmpty == false
        guard isSet || AgentPaths.variable("GOENV")?.bytewise == "off".bytewise else { return }
        let name = isSet ? "GOAUTH" : "GOENV"
        throw AgentError(
            .badRequest,
            "go does not read its file: \(name) is set in the environment",
            remedy: .run("unset \(name)")
        )
    }

    /// Checks that the go in `PATH` supports GOAUTH.
    private static func checkVersionOfGo() throws(AgentError) {
        let known = try CompletedRun(["go", "version"]).words.split(separator: " ")
            .first { $0.hasPrefix("go1.") }
        // Output without such a version is from a later or a custom build.
        guard let known, let minor = Int(known.dropFirst(4).prefix { $0.isNumber }),
            minor < minimumMinorOfGo
        else { return }
        throw AgentError(
            .misconfigured,
            "\(known) does not support GOAUTH, which requires go1.\(minimumMinorOfGo)",
            remedy: .retry("with go 1.\(minimumMinorOfGo) or later first in PATH")
        )
    }

    /// The minor version of go that introduced GOAUTH.
    private static let minimumMinorOfGo = 24

    static func terraform(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let name = "terraform-credentials-tokenagent"
        let block = TextBlock(
            file: request.options.file ?? request.places.file("TF_CLI_CONFIG_FILE", ".terraformrc"),
            mark: BlockIdentifier("terraform"),
            place: .end,
            lines: ["credentials_helper \"tokenagent\" {", "  args = []", "}"],
            ours: ["credentials_helper \"tokenagent\" {", "args = []", "}"],
            keys: ["credentials_helper"]
        )
        let link = HelperLink(at: "\(request.places.home)/.terraform.d/plugins/\(name)", to: request.program)
        return SetupPlan(
            changes: [block, link],
            notes: [
                "terraform gets tokens only for servers that a session lists in hosts",
                "tofu reads ~/.tofurc: name it with --file",
            ]
        )
    }

    static func bazel(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let helper = "\(request.places.programDirectory)/bazel-credential-tokenagent"
        let link = HelperLink(at: helper, to: request.program)
        guard SetupRequest.isPlain(link.path) else {
            throw AgentError(
                .misconfigured,
                "path contains characters that bazel misinterprets: \(link.path)"
            )
        }
        let file = request.options.file ?? request.places.home + "/.bazelrc"
        // Bazel compares host names without the port.
        let name = { (host: String) in ServerAddress(host)?.place.host ?? host }
        let entries = try request.entries()
        try request.checkChoice(entries)
        let blocks = request.blocks("bazel", entries, namedBy: name) { mark, _ in
            let server = mark.name ?? ""
            return TextBlock(
                file: file,
                mark: mark,
                place: .end,
                lines: ["common --credential_helper=\(server)=\(link.path)"],
                ours: ["common --credential_helper=*/bazel-credential-tokenagent"],
                isRival: { line, _ in PackageSetup.isBazelHelper(line, for: server) }
            )
        }
        // Blocks for other servers need the link.
        let others = try blocks.first?.remain(without: blocks.map(\.mark)) == true
        return SetupPlan(changes: request.isUndo && others ? blocks : blocks + [link])
    }

    /// Returns whether a line sets a helper for `server`, for any command of bazel.
    private static func isBazelHelper(_ line: String, for server: String) -> Bool {
        let blanks = " \t".utf8
        let words = line.lowercased().utf8.split { blanks.contains($0) }
            .map { $0.filter { !"\"'".utf8.contains($0) } }
            .prefix { $0.first != UInt8(ascii: "#") }
        // A command with a configuration name applies only if that configuration is requested.
        guard let command = words.first, !command.contains(UInt8(ascii: ":")) else { return false }
        let (option, rule) = (Array("--credential_helper".utf8), Array("\(server.lowercased())=".utf8))
        return zip(words, words.dropFirst() + [[]]).contains { word, next in
            word.starts(with: option + [UInt8(ascii: "=")] + rule)
                || word == option && next.starts(with: rule)
        }
    }
}
