// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The programs that `tokenctl setup` supports.
enum SetupClient: String, CaseIterable {
    case git
    case docker
    case kubectl
    case pip
    case uv
    case cargo
    case go
    case terraform
    case bazel
    case aws
    case gcloud
    case mcp
    case ssh
    case systemd
    case devcontainer

    /// Returns the changes for this program.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if an option is missing or not supported by this
    ///   program.
    func plan(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        // An ignored option would make undo remove everything.
        if request.session != nil, !isFor.session { throw refusal(of: "--session", "session") }
        if !request.options.hosts.isEmpty, !isFor.host { throw refusal(of: "--host", "server") }
        let given = [
            ("--name", request.options.name), ("--url", request.options.url),
            ("--local", request.options.local),
            ("--remote", request.options.remote), ("--audience", request.options.audience),
            ("--account", request.options.account), ("--role", request.options.role),
            ("--id-token", request.options.wantsIDToken ? "" : nil),
        ]
        for (option, value) in given where value != nil && !options.contains(option) {
            throw AgentError(
                .badRequest,
                "setup \(rawValue) does not support \(option)",
                remedy: .retry("without \(option)")
            )
        }
        return try changes(request)
    }

    /// Whether the program can be set up for a single session, or for a single server.
    private var isFor: (session: Bool, host: Bool) {
        switch self {
        case .git, .docker, .bazel: (true, true)
        case .kubectl, .cargo, .aws, .gcloud: (true, false)
        case .ssh: (false, true)
        case .pip, .uv, .go, .terraform, .mcp, .systemd, .devcontainer: (false, false)
        }
    }

    /// The other options that the program supports, except `--file`.
    private var options: [String] {
        switch self {
        case .kubectl: ["--name", "--id-token"]
        case .cargo, .systemd: ["--name"]
        case .aws: ["--name", "--account", "--role"]
        case .gcloud: ["--audience"]
        case .mcp: ["--name", "--url", "--ca-file"]
        case .ssh: ["--local", "--remote"]
        case .devcontainer: ["--local"]
        case .git, .docker, .pip, .uv, .go, .terraform, .bazel: []
        }
    }

    private func refusal(of option: String, _ single: String) -> AgentError {
        AgentError(
            .badRequest,
            "setup \(rawValue) does not support \(option), because \(rawValue) is set up for every \(single)",
            remedy: .retry("without \(option)")
        )
    }

    private func changes(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        switch self {
        case .git: try GitSSHAndMCPSetup.git(request)
        case .docker: try ContainerSetup.docker(request)
        case .kubectl: try ContainerSetup.kubectl(request)
        case .pip: try PackageSetup.pip(request)
        case .uv: try PackageSetup.uv(request)
        case .cargo: try PackageSetup.cargo(request)
        case .go: try PackageSetup.go(request)
        case .terraform: try PackageSetup.terraform(request)
        case .bazel: try PackageSetup.bazel(request)
        case .aws: try CloudSetup.aws(request)
        case .gcloud: try CloudSetup.gcloud(request)
        case .mcp: try GitSSHAndMCPSetup.mcp(request)
        case .ssh: try GitSSHAndMCPSetup.ssh(request)
        case .systemd: try ContainerSetup.systemd(request)
        case .devcontainer: try ContainerSetup.devcontainer(request)
        }
    }
}
