// SPDX-License-Identifier: MIT

/// The reason a fleet's keys cannot be read.
package enum FleetKeyError: Error, Equatable, Sendable {
    case file(StoreFileError)
    /// The content is something else, such as another file or the key of a vault.
    case notAKey
    /// The content was written by a newer version.
    case futureVersion(Int)
    /// The content was truncated, changed or mistyped.
    case damaged
    /// A reader was given the key that opens refresh tokens.
    case keepersKey
    /// A keeper was given the key that opens only access tokens.
    case readersKey
    /// The path of the readers' file, next to the keepers' file, holds something else, which the text
    /// describes.
    case otherReadersFile(String)
    /// The fleet's name is invalid.
    case badLabel
    /// There is no staged key.
    case nothingStaged
    case outOfMemory

    /// A description that ends a sentence beginning with the file, command or credential.
    package var sentence: String {
        switch self {
        case .file(let fault): "cannot be used: \(fault)"
        case .notAKey: "is not the key of a fleet"
        case .futureVersion(let version): "has format version \(version), newer than this program"
        case .damaged: "is damaged: it was cut or changed"
        case .keepersKey:
            "is the keepers' key, which opens refresh tokens: a reader gets the file beside it that ends in "
                + FleetKeyFile.readersSuffix
        case .readersKey: "is the readers' key, which opens no refresh token: this host is a keeper"
        case .otherReadersFile(let reason):
            "cannot be given a new key: the file beside it that ends in \(FleetKeyFile.readersSuffix) \(reason)"
        case .badLabel: "cannot be made: a fleet's name has 1 to 64 visible ASCII characters"
        case .nothingStaged: "has no staged key"
        case .outOfMemory: "cannot be kept: there is no more locked memory"
        }
    }

    /// Whether only the user can correct the error.
    package var isMistake: Bool {
        switch self {
        case .file(.system), .outOfMemory: false
        default: true
        }
    }

    /// The remedy for a host that was given the key.
    package var remedy: String {
        switch self {
        case .file(.system): "see that the agent can read it, whose next try comes by itself"
        case .file(.missing), .file(.wrongSize):
            "copy the key file of the host's role there, see tokenagent-fleet(7), and restart the agent"
        case .file: "make it a plain file of the agent's user, with mode 600"
        case .notAKey, .damaged, .badLabel:
            "give this host the file that tokenctl fleet init or rekey has written"
        case .nothingStaged: "run tokenctl fleet rekey --stage first"
        case .futureVersion: "install the version here that has written it"
        case .keepersKey: "give this host the readers' file, or set fleet.role = \"keeper\""
        case .readersKey: "give this host the keepers' file, or set fleet.role = \"reader\""
        case .otherReadersFile: "move the file away that ends in \(FleetKeyFile.readersSuffix)"
        case .outOfMemory: "raise the limit: ulimit -l, or LimitMEMLOCK= in the unit"
        }
    }
}
