// SPDX-License-Identifier: MIT

import Text

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
        case .damaged: "is damaged: truncated or changed"
        case .keepersKey:
            "is the keepers' key, but this host is a reader"
        case .readersKey: "is the readers' key, but this host is a keeper"
        case .otherReadersFile(let reason):
            "cannot be renewed: the \(FleetKeyFile.readersSuffix) file next to it \(reason)"
        case .badLabel: "cannot be created: a fleet's name has 1 to 64 visible ASCII characters"
        case .nothingStaged: "has no staged key"
        case .outOfMemory: "cannot be loaded: no memory left"
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
    package var remedy: Remedy {
        switch self {
        case .file(.system): .retry("after making it readable for the agent")
        case .file(.missing), .file(.wrongSize):
            .setAndRestart("the key file for this host's role at this path")
        case .file(.sandboxed): .restart
        case .file: .set("the key to a plain file of the agent's user with mode 600")
        case .notAKey, .damaged, .badLabel, .nothingStaged:
            .retry("with the file that tokenctl fleet init or rekey wrote")
        case .futureVersion: .retry("with the newer version")
        case .keepersKey:
            .setAndRestart(
                "the readers' file, which ends in .reader, on this host, or fleet.role = \"keeper\""
            )
        case .readersKey:
            .setAndRestart(
                "the keepers' file on this host, or fleet.role = \"reader\""
            )
        case .otherReadersFile:
            .retry("after moving the file away that ends in \(FleetKeyFile.readersSuffix)")
        case .outOfMemory:
            .setAndRestart(
                "ulimit -v, or LimitAS= in the unit, to a higher limit"
            )
        }
    }
}
