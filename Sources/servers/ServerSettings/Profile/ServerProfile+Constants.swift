// SPDX-License-Identifier: MIT

extension ServerProfile.Kind {
    /// The files with secrets among the constants of requests, each with its key.
    package var constantFiles: [(key: String, path: String)] {
        constantSecrets.compactMap { secret in
            if case .file(let path) = secret.source { (secret.key, path) } else { nil }
        }
    }

    /// The commands that print secrets among the constants of requests.
    package var constantCommands: [[String]] {
        constantSecrets.compactMap { secret in
            if case .command(let words) = secret.source { words } else { nil }
        }
    }

    private var constantSecrets: [JSONConstants.Secret] {
        if case .json(let backEnd) = self { backEnd.constants.secrets } else { [] }
    }
}
