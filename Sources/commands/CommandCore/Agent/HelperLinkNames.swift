// SPDX-License-Identifier: MIT

/// The names under which other programs look for their helper; each is a link to `tokenctl`.
package enum HelperLinkNames {
    private static let commands = [
        "git-credential-tokenagent": "git-credential",
        "docker-credential-tokenagent": "docker-credential",
        "terraform-credentials-tokenagent": "terraform",
        "bazel-credential-tokenagent": "bazel",
        "keyring": "keyring",
    ]

    /// Returns the arguments of `tokenctl` for a command line, which begins with the name of the link.
    package static func arguments(of words: ProcessArguments) -> [String] {
        let name = words.first?.split(separator: "/").last.map(String.init) ?? ""
        return (commands[name].map { [$0] } ?? []) + words.dropFirst()
    }
}
