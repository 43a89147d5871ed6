// SPDX-License-Identifier: MIT

import AgentProtocol

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
    func plan(_ wish: SetupRequest) throws(AgentError) -> SetupPlan {
        // An ignored option would make undo remove everything.
        if wish.session != nil, !isFor.session { throw refusal(of: "--session", "session") }
        if !wish.options.hosts.isEmpty, !isFor.host { throw refusal(of: "--host", "server") }
        let given = [
            ("--name", wish.options.name), ("--url", wish.options.url), ("--local", wish.options.local),
            ("--remote", wish.options.remote), ("--audience", wish.options.audience),
            ("--account", wish.options.account), ("--role", wish.options.role),
            ("--id-token", wish.options.wantsIDToken ? "" : nil),
        ]
        for (option, value) in given where value != nil && !options.contains(option) {
            throw AgentError(.badRequest, "\(option) says nothing for \(rawValue)", remedy: "leave it out")
        }
        return try changes(wish)
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
        case .mcp: ["--name", "--url"]
        case .ssh: ["--local", "--remote"]
        case .devcontainer: ["--local"]
        case .git, .docker, .pip, .uv, .go, .terraform, .bazel: []
        }
    }

    private func refusal(of option: String, _ single: String) -> AgentError {
        AgentError(
            .badRequest,
            "\(rawValue) is not set up for a single \(single)",
            remedy: "leave out \(option)"
        )
    }

    private func changes(_ wish: SetupRequest) throws(AgentError) -> SetupPlan {
        switch self {
        case .git: try NetworkSetup.git(wish)
        case .docker: try ContainerSetup.docker(wish)
        case .kubectl: try ContainerSetup.kubectl(wish)
        case .pip: try PackageSetup.pip(wish)
        case .uv: try PackageSetup.uv(wish)
        case .cargo: try PackageSetup.cargo(wish)
        case .go: try PackageSetup.go(wish)
        case .terraform: try PackageSetup.terraform(wish)
        case .bazel: try PackageSetup.bazel(wish)
        case .aws: try CloudSetup.aws(wish)
        case .gcloud: try CloudSetup.gcloud(wish)
        case .mcp: try NetworkSetup.mcp(wish)
        case .ssh: try NetworkSetup.ssh(wish)
        case .systemd: try ContainerSetup.systemd(wish)
        case .devcontainer: try ContainerSetup.devcontainer(wish)
        }
    }
}
