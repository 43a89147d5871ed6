// SPDX-License-Identifier: MIT

@testable import OAuthClient

/// The recording of a connection opens to no more than was recorded, and to the same with room behind it that nothing was
/// written to.
func fuzzRecording(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let secret = TLSSecret(line: Array(parts[0])) else { return }
    let stream = Array(parts[1])
    let recording = ProcessorTime.limited("a recording") { try? DecryptedRecording(stream, secret) }
    guard let recording else { return }
    precondition(recording.plaintext.count <= stream.count, "more was opened than was recorded")
    // What begins no record may be seen to be none only with more behind it.
    let padded = try? DecryptedRecording(stream + [UInt8](repeating: 0, count: 16), secret)
    precondition(padded.map { $0.plaintext == recording.plaintext } ?? true, "room changes what was said")
}
