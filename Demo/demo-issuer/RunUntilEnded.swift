// SPDX-License-Identifier: MIT

import Dispatch
import Glibc

/// Keeps the process alive until it is told to end.
enum RunUntilEnded {
    static var processID: Int32 { getpid() }

    /// Returns at SIGTERM, SIGINT or, if it is watched, the end of standard input.
    ///
    /// The end of standard input means that the program that started this one is gone.
    static func wait(watchingStandardInput: Bool) async {
        let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
        let sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
        if watchingStandardInput {
            DispatchQueue.global().async {
                while readLine() != nil {}
                continuation.yield()
            }
        }
        for await _ in ends { break }
        for source in sources { source.cancel() }
    }
}

/// Standard output, which is buffered when it is a pipe.
enum StandardOutput {
    static func flush() throws {
        guard fflush(nil) == 0 else { throw SystemFailure(action: "write to standard output") }
    }
}

/// A system call that failed.
struct SystemFailure: Error, CustomStringConvertible {
    let description: String

    init(action: String) {
        description = "cannot \(action): \(unsafe String(cString: strerror(errno)))"
    }
}

/// The certificate of the authority as a file.
enum CertificateFile {
    /// Writes `pem` to `ca.pem` in `directory`, which must exist; returns the path.
    static func write(_ pem: String, in directory: String) throws -> String {
        let path = "\(directory)/ca.pem"
        guard let file = unsafe fopen(path, "w") else { throw SystemFailure(action: "write \(path)") }
        defer { unsafe fclose(file) }
        guard unsafe fputs(pem, file) >= 0 else { throw SystemFailure(action: "write \(path)") }
        return path
    }
}
