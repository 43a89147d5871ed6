// SPDX-License-Identifier: MIT

/// The provider of an external secret; the raw value is stored on disk.
package enum ExternalProvider: UInt8, CaseIterable, Sendable {
    case systemdCredential = 1
    case secretService = 2
    case keychain = 3
    /// A command; the name contains its arguments, separated by NUL.
    case command = 4

    /// The provider's name in messages.
    var word: String {
        switch self {
        case .systemdCredential: "credential"
        case .secretService, .keychain: "keyring entry"
        case .command: "command"
        }
    }
}
