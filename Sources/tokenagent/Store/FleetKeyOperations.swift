// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import SealedStore
import Text
import TokenCore

/// The commands for a fleet's key files, which they write and describe, for `tokenctl fleet`.
struct FleetKeyOperations {
    /// The absolute path of the keepers' file.
    let path: String

    private var readersPath: String { path + FleetKeyFile.readersSuffix }

    /// Creates the keys of a new fleet called `name`.
    ///
    /// Neither file may exist.
    ///
    /// - Throws: ``StartFailure``. No new file is left then.
    func make(_ name: String) throws(StartFailure) {
        // `[fleet]` accepts the same names.
        guard SessionName(name) != nil else {
            throw StartFailure(
                .badRequest,
                "a fleet's name has 1 to 64 letters, digits, '.', '_' or '-' and begins with a letter or digit"
            )
        }
        for path in [path, readersPath] where FleetKeyOperations.exists(path) {
            throw StartFailure(
                .misconfigured,
                "\(path) already exists",
                remedy: .retry("with another file")
            )
        }
        try work { () throws(FleetKeyError) in try FleetKeyFile.create(path, label: name) }
    }

    /// Replaces, stages or activates a fleet's key, and keeps as many older keys as a file can hold.
    ///
    /// - Throws: ``StartFailure`` if the file cannot be read or written.
    func rotate(_ step: FleetKeyFile.KeyRotationStep) throws(StartFailure) {
        try work { () throws(FleetKeyError) in
            try FleetKeyFile.rotate(path, step, keeping: FleetKeys.maximumEpochs - 1)
        }
    }

    private func work(_ body: () throws(FleetKeyError) -> FleetKeys) throws(StartFailure) {
        try ProcessHardening.refuseInspection()
        do throws(FleetKeyError) {
            let keys = try body()
            let message = FleetKeyFilesMessage {
                $0.fleet = keys.label
                $0.epoch = Int64(keys.epoch)
                $0.staged = keys.stagedEpoch.map { Int64($0) }
                $0.keepersFile = path
                $0.readersFile = readersPath
                $0.prefix = String(decoding: FleetNames(keys).prefix, as: UTF8.self)
            }
            Console.write(message.json.text + "\n")
        } catch {
            throw StartFailure(
                error == .outOfMemory ? .internal : .misconfigured,
                "\(path) \(sentence(about: error))",
                remedy: remedy(for: error)
            )
        }
    }

    private func sentence(about fault: FleetKeyError) -> String {
        switch fault {
        case .file(.missing): "cannot be used: the file or its directory does not exist"
        case .readersKey: "is the readers' key and cannot be renewed"
        default: fault.sentence
        }
    }

    private func remedy(for fault: FleetKeyError) -> Remedy? {
        switch fault {
        case .otherReadersFile: fault.remedy
        case .nothingStaged: .run("tokenctl fleet rekey --stage --key-file \(ShellWord.quoted(path))")
        case .readersKey: .retry("with the keepers' file")
        default: nil
        }
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }
}
