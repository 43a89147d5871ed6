// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing

@testable import SealedStore

/// Files written by this and every earlier version are read the same way for ever.
struct VectorTests {
    static let isWriting = getenv("STORE_VECTORS") != nil

    static let names: [String] = {
        if isWriting {
            for (name, vector) in (try? VectorWriter.vectors()) ?? [:] {
                Disk.write(Array(vector.text.utf8), to: "\(Vector.directory)/\(name).txt", mode: 0o644)
            }
        }
        return Disk.names(Vector.directory)
    }()

    @Test(.holds("43", "49"), arguments: names)
    func `the golden file is read as it says`(name: String) throws {
        let vector = try Vector(contentsOf: "\(Vector.directory)/\(name)")
        #expect(try vector.outcome() == vector.fields["expect"])
    }

    @Test(.holds("49")) func `there are enough golden files to speak of`() {
        #expect(VectorTests.names.count >= 40)
    }
}
