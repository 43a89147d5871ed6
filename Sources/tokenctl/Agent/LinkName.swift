// SPDX-License-Identifier: MIT

/// The names under which other programs look for their helper; each is a link to `tokenctl`.
enum LinkName {
    private static let commands = [
        "git-credential-tokenagent": "git-credential",
        "docker-credential-tokenagent": "docker-credential",
        "terraform-credentials-tokenagent": "terraform",
        "bazel-credential-tokenagent": "bazel",
        "keyring": "keyring",
    ]

    /// The arguments of `tokenctl` that a call as `program` with `arguments` stands for.
    static func arguments(_ arguments: [String], calledAs program: String) -> [String] {
        // By far the most frequent call, and the one whose time counts.
        guard !program.hasSuffix("tokenctl") else { return arguments }
        let name = program.split(separator: "/").last.map(String.init) ?? program
        return (commands[name].map { [$0] } ?? []) + arguments
    }
}
