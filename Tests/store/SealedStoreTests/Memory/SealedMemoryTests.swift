// SPDX-License-Identifier: MIT

import SecretMemory
import Testing
import TokenCore

@testable import SealedStore

struct SealedMemoryTests {
    @Test(arguments: SecretKind.allCases)
    func `a secret of any length comes back as it was`(kind: SecretKind) throws {
        let memory = try SealedMemory()
        for count in [0, 1, 63, 64, 65, 255, 256, 257, 450, 511, 512, 513, 65_535] {
            let text = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) }
            let id = try text.withUnsafeBytes { try memory.seal($0, as: kind) }
            #expect(try memory.open(id) { Array($0) } == text)
            let sealed = try memory.find(id)
            #expect(sealed.count == count)
            var place = [UInt8](repeating: 0xAA, count: count + sealed.spare + 3)
            try place.withUnsafeMutableBytes { try sealed.open(into: $0) }
            #expect(Array(place[..<count]) == text)
            #expect(place[count..<count + sealed.spare].allSatisfy { $0 == 0 })
            #expect(Array(place.suffix(3)) == [0xAA, 0xAA, 0xAA])
        }
    }

    @Test func `a secret that is found cannot be opened as another one`() throws {
        let memory = try SealedMemory()
        let text = Array("secret".utf8)
        let id = try text.withUnsafeBytes { try memory.seal($0, as: .accessToken) }
        #expect(try memory.holds(text, in: id))
        #expect(throws: SealedMemoryError.noSuchSecret) {
            try memory.find(SecretID(rawValue: id.rawValue + 1))
        }
        memory.lock()
        #expect(throws: SealedMemoryError.locked) { try memory.find(id) }
    }
}

extension SealedMemory {
    fileprivate func holds(_ text: [UInt8], in id: SecretID) throws -> Bool {
        try text.withUnsafeBytes { try holds($0, in: id) }
    }
}
