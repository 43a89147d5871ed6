// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

struct FleetKeyFileTests {
    let directory = TemporaryDirectory.inMemory

    var path: String { "\(directory.path)/fleet.key" }
    var readersPath: String { path + ".reader" }

    func text(_ path: String) throws -> String {
        String(decoding: try #require(Disk.read(path)), as: UTF8.self)
    }

    func fault(_ path: String, as role: FleetRole) -> FleetKeyError? {
        do throws(FleetKeyError) {
            _ = try FleetKeyFile.read(path, as: role)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a new fleet has a file for keepers and one for readers, closed to others`() throws {
        let made = try FleetKeyFile.create(path, label: "production")
        for (path, word) in [(path, "keeper"), (readersPath, "reader")] {
            var status = stat()
            #expect(lstat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
            let text = try text(path)
            #expect(text.hasPrefix("tokenagent-fleet-\(word)-1:") && text.hasSuffix("\n"))
            #expect(text.dropLast().utf8.allSatisfy { (0x21...0x7E).contains($0) })
        }
        for role in FleetRole.allCases {
            let keys = try FleetKeyFile.read(role == .keeper ? path : readersPath, as: role)
            #expect(keys.fleet == made.fleet && keys.label == "production" && keys.epochs == [1])
            #expect(keys.role == role)
        }
    }

    @Test func `what the readers' file holds is no key of the keepers'`() throws {
        let keepers = try FleetKeyFile.create(path, label: "production")
        let readers = try FleetKeyFile.read(readersPath, as: .reader)
        let secret = try #require(keepers.withSecret(of: 1, for: .keeper) { Array($0) })
        let content = Array(try text(readersPath).utf8)
        let digits = Array(try text(path).utf8)
        #expect(readers.withSecret(of: 1, for: .keeper) { _ in true } == nil)
        let readersSecret = try #require(readers.withSecret(of: 1, for: .reader) { Array($0) })
        #expect(readersSecret == keepers.withSecret(of: 1, for: .reader) { Array($0) })
        #expect(readersSecret != secret)
        #expect(content.suffix(60) != digits.suffix(60))
        for purpose in FleetKeys.Purpose.allCases {
            let theirs = readers.withKey(for: purpose, epoch: 1) { Array($0) }
            let ours = try #require(keepers.withKey(for: purpose, epoch: 1) { Array($0) })
            #expect(theirs == (purpose.isReaders ? ours : nil))
            #expect(ours.contains { $0 != 0 } && ours != secret && ours != readersSecret)
        }
    }

    @Test func `all keys of a fleet differ`() throws {
        let keys = try FleetKeys.random(label: "f").renewed(keeping: 1)
        var all: Set<[UInt8]> = [keys.withNameKey { Array($0) }]
        for epoch in keys.epochs {
            for role in FleetRole.allCases {
                all.insert(try #require(keys.withSecret(of: epoch, for: role) { Array($0) }))
            }
            for purpose in FleetKeys.Purpose.allCases {
                all.insert(try #require(keys.withKey(for: purpose, epoch: epoch) { Array($0) }))
            }
        }
        #expect(all.count == 1 + 2 * (2 + FleetKeys.Purpose.allCases.count))
    }

    @Test func `the other role's file is a mistake that says so`() throws {
        try FleetKeyFile.create(path, label: "production")
        #expect(fault(path, as: .reader) == .keepersKey)
        #expect(fault(readersPath, as: .keeper) == .readersKey)
        #expect(FleetKeyError.keepersKey.remedy.text.contains(".reader"))
    }

    @Test(arguments: ["", ".reader"])
    func `a file that exists is not replaced, and none is left beside it`(suffix: String) throws {
        Disk.write(Array("mine".utf8), to: path + suffix)
        do throws(FleetKeyError) {
            try FleetKeyFile.create(path, label: "production")
            Issue.record("it was replaced")
        } catch {
            guard case .file(.system(let cause)) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(cause.code == EEXIST)
        }
        #expect(directory.names() == ["fleet.key\(suffix)"])
        #expect(try text(path + suffix) == "mine")
    }

    @Test func `every changed byte is noticed`() throws {
        try FleetKeyFile.create(path, label: "production")
        for (path, role) in [(path, FleetRole.keeper), (readersPath, .reader)] {
            let whole = try #require(Disk.read(path))
            for index in whole.indices.dropLast() {
                for mask in [1, 2, 0x20, 0x80] as [UInt8] {
                    var changed = whole
                    changed[index] ^= mask
                    let text = try changed.withUnsafeBytes { try GuardedBytes(copying: $0) }
                    #expect(throws: FleetKeyError.self, "byte \(index), \(mask)") {
                        try FleetKeyFile.keys(in: text, as: role)
                    }
                }
            }
        }
    }

    @Test func `a file cut anywhere is refused, and blanks after it are not`() throws {
        try FleetKeyFile.create(path, label: "production")
        let whole = Array(try #require(Disk.read(path)).dropLast())
        for count in 1..<whole.count {
            let text = try whole[..<count].withUnsafeBytes { try GuardedBytes(copying: $0) }
            #expect(throws: FleetKeyError.self, "\(count) bytes") {
                try FleetKeyFile.keys(in: text, as: .keeper)
            }
        }
        for end in ["", "\n", "\r\n", " \n\n"] {
            let text = try (whole + Array(end.utf8)).withUnsafeBytes { try GuardedBytes(copying: $0) }
            #expect(throws: Never.self) { try FleetKeyFile.keys(in: text, as: .keeper) }
        }
    }

    @Test(arguments: [
        ("0123456789abcdef0123456789abcdef", FleetKeyError.notAKey),
        ("tokenagent-fleet-keeper", .notAKey), ("tokenagent-fleet-keeper-:AAAA", .notAKey),
        ("tokenagent-fleet-keeper-0:AAAA", .notAKey), ("tokenagent-fleet-keeper-2:AAAA", .futureVersion(2)),
        ("tokenagent-fleet-reader-3:AAAA", .futureVersion(3)), ("tokenagent-fleet-keeper-1:", .damaged),
        ("tokenagent-fleet-keeper-1:AAAA", .damaged), ("tokenagent-fleet-keeper-1:A A A", .damaged),
        ("tokenagent-fleet-keeper-1:AAA=", .damaged), (" \n", .notAKey),
        (String(repeating: "A", count: 1_025), .notAKey),
    ])
    func `what is no key is refused as what it is`(text: String, expected: FleetKeyError) throws {
        let bytes = try GuardedBytes.text(text)
        #expect(throws: expected) { try FleetKeyFile.keys(in: bytes, as: .keeper) }
    }

    @Test func `a file that others can read, a link and a directory are refused`() throws {
        try FleetKeyFile.create(path, label: "production")
        chmod(path, 0o640)
        #expect(fault(path, as: .keeper) == .file(.untrusted("its mode 640 allows access by others")))
        chmod(path, 0o600)
        let link = "\(directory.path)/link"
        #expect(symlink(path, link) == 0)
        #expect(fault(link, as: .keeper) == .file(.untrusted("it is a symbolic link")))
        #expect(fault(directory.path, as: .keeper) == .file(.untrusted("it is not a regular file")))
        #expect(fault("fleet.key", as: .keeper) == .file(.untrusted("its path is not absolute")))
        #expect(fault(path + ".no", as: .keeper) == .file(.missing))
        let named = "\(directory.path)/named"
        #expect(symlink("\(directory.path)/elsewhere", named) == 0)
        #expect(throws: FleetKeyError.self) { try FleetKeyFile.create(named, label: "x") }
        #expect(Disk.read("\(directory.path)/elsewhere") == nil)
    }

    @Test func `a file of more than a key may have is not read`() throws {
        Disk.write([UInt8](repeating: 0x41, count: 1_025), to: path)
        #expect(fault(path, as: .keeper) == .file(.wrongSize(1_025, 1...1_024)))
    }

    @Test(arguments: ["", "with blank", "ü", String(repeating: "x", count: 65)])
    func `a name that is none is refused`(label: String) {
        #expect(throws: FleetKeyError.badLabel) { try FleetKeys.random(label: label) }
    }

    @Test func `a new epoch comes first in both files, and the older ones stay as long as asked`()
        throws
    {
        let first = try FleetKeyFile.create(path, label: "production")
        var last = first
        for (keeping, epochs) in [
            (1, [2, 1]), (3, [3, 2, 1]), (3, [4, 3, 2, 1]), (9, [5, 4, 3, 2]), (0, [6]),
        ] {
            let next = try FleetKeyFile.rotate(path, keeping: keeping)
            #expect(next.epochs == epochs.map { UInt32($0) } && next.fleet == first.fleet)
            #expect(try FleetKeyFile.read(path, as: .keeper).epochs == next.epochs)
            #expect(try FleetKeyFile.read(readersPath, as: .reader).epochs == next.epochs)
            for epoch in next.epochs.dropFirst() {
                #expect(
                    next.withKey(for: .refreshTokens, epoch: epoch) { Array($0) }
                        == last.withKey(for: .refreshTokens, epoch: epoch) { Array($0) }
                )
            }
            last = next
        }
        #expect(directory.names() == ["fleet.key", "fleet.key.reader"])
        #expect(last.withNameKey { Array($0) } == first.withNameKey { Array($0) })
    }

    @Test func `a staged key is in both files, behind the one that is used`() throws {
        try FleetKeyFile.create(path, label: "production")
        for (renewal, epochs) in [
            (FleetKeyFile.KeyRotationStep.stage, [1, 2] as [UInt32]), (.stage, [1, 2]), (.activate, [2, 1]),
            (.stage, [2, 3, 1]), (.replace, [4, 3, 2, 1]),
        ] {
            #expect(try FleetKeyFile.rotate(path, renewal, keeping: 3).epochs == epochs)
            #expect(try FleetKeyFile.read(path, as: .keeper).epochs == epochs)
            #expect(try FleetKeyFile.read(readersPath, as: .reader).epochs == epochs)
        }
        #expect(throws: FleetKeyError.nothingStaged) { try FleetKeyFile.rotate(path, .activate) }
    }

    @Test func `a disk that refuses a call leaves both files or none`() throws {
        let files = FaultyFiles()
        files.arm(.none)
        try FleetKeyFile.create("\(directory.path)/whole.key", label: "production", files: files)
        let calls = files.log.count
        for number in 1...calls {
            let directory = TemporaryDirectory.inMemory
            files.arm(.only(number, code: ENOSPC))
            #expect(throws: FleetKeyError.self, "call \(number)") {
                try FleetKeyFile.create("\(directory.path)/f.key", label: "production", files: files)
            }
            #expect(directory.names() == [], "call \(number)")
        }
    }

    @Test func `a disk that refuses a call while keys are renewed leaves keys that open`() throws {
        let files = FaultyFiles()
        try FleetKeyFile.create(path, label: "production")
        files.arm(.none)
        try FleetKeyFile.rotate(path, files: files)
        for number in 1...files.log.count {
            let directory = TemporaryDirectory.inMemory
            let path = "\(directory.path)/f.key"
            try FleetKeyFile.create(path, label: "production")
            files.arm(.only(number, code: ENOSPC))
            let isRenewed = (try? FleetKeyFile.rotate(path, files: files)) != nil
            let keepers = try FleetKeyFile.read(path, as: .keeper)
            let readers = try FleetKeyFile.read(path + ".reader", as: .reader)
            #expect(keepers.epoch >= readers.epoch && readers.epoch >= (isRenewed ? 2 : 1), "call \(number)")
            let left = directory.names().filter { $0.hasSuffix(".tmp") }
            #expect(
                left.allSatisfy { Disk.read("\(directory.path)/\($0)")?.isEmpty == true },
                "call \(number)"
            )
            // Once more is enough.
            try FleetKeyFile.rotate(path)
            #expect(try FleetKeyFile.read(path + ".reader", as: .reader).epoch == keepers.epoch + 1)
        }
    }

    @Test func `only the fleet's own readers' file is replaced`() throws {
        try FleetKeyFile.create(path, label: "production")
        try FleetKeyFile.create(path + "2", label: "production")
        let keepers = try text(path)
        for (stranger, reason) in [
            ("text", "is not the key of a fleet"), (keepers, "is a keepers' key"),
            (try text(path + "2.reader"), "is of another fleet"),
        ] {
            Disk.write(Array(stranger.utf8), to: readersPath)
            #expect(throws: FleetKeyError.otherReadersFile(reason)) { try FleetKeyFile.rotate(path) }
            #expect(try text(path) == keepers && text(readersPath) == stranger)
        }
        #expect(unlink(readersPath) == 0)
        try FleetKeyFile.rotate(path)
        #expect(try FleetKeyFile.read(readersPath, as: .reader).epochs == [2, 1])
    }

    @Test func `only keepers make a new epoch`() throws {
        try FleetKeyFile.create(path, label: "production")
        #expect(throws: FleetKeyError.readersKey) { try FleetKeyFile.rotate(readersPath) }
        let readers = try FleetKeyFile.read(readersPath, as: .reader)
        #expect(throws: FleetKeyError.readersKey) { try readers.renewed() }
        #expect(throws: FleetKeyError.readersKey) { try FleetKeyText.text(of: readers, for: .keeper) }
    }

    @Test func `a host keeps its identity in a fleet, and has another one in another fleet`() throws {
        let vault = RandomID(high: 1, low: 2)
        let keys = try FleetKeyFile.create(path, label: "production")
        let host = keys.host(of: vault)
        #expect(try FleetKeyFile.read(readersPath, as: .reader).host(of: vault) == host)
        #expect(try keys.renewed().host(of: vault) == host)
        #expect(keys.host(of: RandomID(high: 1, low: 3)) != host)
        #expect(try FleetKeys.random(label: "production").host(of: vault) != host)
    }
}
