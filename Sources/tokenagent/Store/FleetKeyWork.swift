// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import SealedStore
import TokenCore

/// The commands for a fleet's key files, which they write and describe, for `tokenctl fleet`.
struct FleetKeyWork {
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
                "a fleet's name is 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
            )
        }
        for path in [path, readersPath] where FleetKeyWork.exists(path) {
            throw StartFailure(
                .misconfigured,
                "\(path) exists: name another file, or give its fleet a new key with tokenctl fleet rekey"
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
            let message = FleetKeyMessage {
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
                "\(path) \(sentence(about: error))"
            )
        }
    }

    private func sentence(about fault: FleetKeyError) -> String {
        switch fault {
        case .file(.missing): "cannot be used: it is not there, or its directory is not"
        case .otherReadersFile: "\(fault.sentence): move that away"
        case .readersKey: "is the readers' key, of which no new one can be made: name the keepers' file"
        default: fault.sentence
        }
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }
}
