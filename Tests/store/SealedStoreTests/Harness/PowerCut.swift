// SPDX-License-Identifier: MIT

import Glibc

@testable import SealedStore

/// A model of the possible contents of a disk after a power failure, given the changes requested before.
///
/// A write of a file is kept, dropped or torn in half until the file is flushed. A change of a name is kept or
/// dropped until its directory is flushed. No real file system is worse, so a store that survives this survives them.
struct PowerCut {
    /// Directory → name → bytes.
    typealias Image = [String: [String: [UInt8]]]

    private enum NameChange {
        case add(String, UInt64)
        case move(String, String, UInt64)
        case remove(String)
    }

    private struct Inode {
        var bytes: [UInt8] = []
        var pending: [RecordingFiles.Change] = []
    }

    private struct Directory {
        /// The entries on the disk.
        var durable: [String: UInt64] = [:]
        /// The entries as the running system sees them.
        var current: [String: UInt64] = [:]
        var pending: [NameChange] = []
    }

    private var inodes: [UInt64: Inode] = [:]
    private var directories: [String: Directory] = [:]
    private var fresh: UInt64 = 1 << 60

    /// Starts from the current contents of the directories.
    init(_ paths: [String]) {
        for path in paths {
            var directory = Directory()
            for name in Disk.names(path) {
                guard let bytes = Disk.read("\(path)/\(name)") else { continue }
                fresh += 1
                inodes[fresh] = Inode(bytes: bytes)
                directory.durable[name] = fresh
            }
            directory.current = directory.durable
            directories[path] = directory
        }
    }

    /// The model's inode numbers of created files, by their real inode numbers.
    private var known: [UInt64: UInt64] = [:]

    /// Applies one change as the running system does.
    mutating func apply(_ change: RecordingFiles.Change) {
        switch change {
        case .create(let path, let name, let inode):
            // The number may have been used before.
            fresh += 1
            known[inode] = fresh
            inodes[fresh] = Inode()
            directories[path]?.current[name] = fresh
            directories[path]?.pending.append(.add(name, fresh))
        case .write(let inode, _, _), .resize(let inode, _):
            if let known = known[inode] { inodes[known]?.pending.append(change) }
        case .rename(let path, let name, let newName):
            guard let inode = directories[path]?.current.removeValue(forKey: name) else { return }
            directories[path]?.current[newName] = inode
            directories[path]?.pending.append(.move(name, newName, inode))
        case .unlink(let path, let name):
            guard directories[path]?.current.removeValue(forKey: name) != nil else { return }
            directories[path]?.pending.append(.remove(name))
        case .flushFile(let inode):
            guard let known = known[inode], let file = inodes[known] else { return }
            inodes[known] = Inode(bytes: PowerCut.applying(file.pending.map { ($0, 1) }, to: file.bytes))
        case .flushDirectory(let path):
            guard let directory = directories[path] else { return }
            directories[path] = Directory(durable: directory.current, current: directory.current)
        }
    }

    /// Every state the disk may be in if the power goes now.
    var images: [Image] {
        var images: [Image] = [[:]]
        let contents = inodes.mapValues { inode in
            PowerCut.choices(3, inode.pending.count).map { choice in
                PowerCut.applying(Array(zip(inode.pending, choice)), to: inode.bytes)
            }
        }
        for (path, directory) in directories {
            let listings = PowerCut.choices(2, directory.pending.count).map { choice in
                PowerCut.applying(
                    zip(directory.pending, choice).filter { $0.1 == 1 }.map(\.0),
                    to: directory.durable
                )
            }
            images = images.flatMap { image in
                Set(listings).flatMap { listing in
                    PowerCut.files(listing, contents).map { image.merging([path: $0]) { $1 } }
                }
            }
        }
        return images
    }

    private static func files(
        _ listing: [String: UInt64],
        _ contents: [UInt64: [[UInt8]]]
    ) -> [[String: [UInt8]]] {
        var all: [[String: [UInt8]]] = [[:]]
        for (name, inode) in listing {
            all = all.flatMap { files in
                (contents[inode] ?? [[]]).map { files.merging([name: $0]) { $1 } }
            }
        }
        return all
    }

    /// All sequences of `count` numbers below `base`.
    private static func choices(_ base: Int, _ count: Int) -> [[Int]] {
        (0..<count).reduce([[]]) { sequences, _ in sequences.flatMap { s in (0..<base).map { s + [$0] } } }
    }

    /// 0: dropped, 1: kept, 2: torn.
    private static func applying(_ changes: [(RecordingFiles.Change, Int)], to bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for (change, choice) in changes where choice != 0 {
            switch change {
            case .resize(_, let count):
                bytes = Array(bytes.prefix(count)) + [UInt8](repeating: 0, count: max(0, count - bytes.count))
            case .write(_, let offset, let written):
                let kept = choice == 2 ? Array(written.prefix(written.count / 2)) : written
                if bytes.count < offset + kept.count {
                    bytes += [UInt8](repeating: 0, count: offset + kept.count - bytes.count)
                }
                bytes.replaceSubrange(offset..<offset + kept.count, with: kept)
            case .create, .rename, .unlink, .flushFile, .flushDirectory: break
            }
        }
        return bytes
    }

    private static func applying(_ changes: [NameChange], to listing: [String: UInt64]) -> [String: UInt64] {
        var listing = listing
        for change in changes {
            switch change {
            case .add(let name, let inode): listing[name] = inode
            case .remove(let name): listing[name] = nil
            case .move(let name, let newName, let inode):
                listing[name] = nil
                listing[newName] = inode
            }
        }
        return listing
    }
}

extension StoreFixture {
    /// Creates a copy of `original` in the state after a power failure.
    convenience init(_ image: PowerCut.Image, of original: StoreFixture) {
        self.init()
        mkdir(statePath, 0o700)
        mkdir(sessionsPath, 0o700)
        for (path, files) in image {
            let target = path == original.statePath ? statePath : sessionsPath
            for (name, bytes) in files { Disk.write(bytes, to: "\(target)/\(name)") }
        }
    }
}
