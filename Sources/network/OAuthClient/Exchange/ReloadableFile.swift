// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import SystemCalls
import Text
import TokenCore

/// A file that another program updates, such as an assertion or a certificate with its key.
///
/// The file is read each time. The file may be a symbolic link and may belong to root, as Kubernetes'
/// projected tokens do. The sandboxed agent can read the directory as it was at the agent's start. In a
/// directory that is newer, the process that runs commands reads the file.
struct ReloadableFile: Sendable {
    /// The configuration key of the file, for messages.
    let key: String
    let path: String
    /// The access that other users may have.
    let access: SmallFile.Access

    /// The maximum number of bytes: the limit for a command's output, and more than any assertion or chain of
    /// certificates.
    static let limit = 64 << 10
    /// The maximum time to read the file, which is on a disk or in memory.
    private static let timeLimit: Duration = .seconds(5)

    /// Reads the whole file.
    ///
    /// - Parameter commands: Reads files that the sandbox makes inaccessible.
    /// - Returns: At most ``limit`` bytes.
    /// - Throws: `helper_failed` with the error, because the program that writes the file may be late.
    func read(_ commands: any CommandRunning) async throws(RefreshFailure) -> [UInt8] {
        let refusal: SmallFile.Failure
        do throws(SmallFile.Failure) {
            return try SmallFile.read(path, sharedWith: access, limit: ReloadableFile.limit)
        } catch {
            refusal = error
        }
        guard refusal.isBlockedBySandbox else { throw failure(refusal) }
        do throws(SmallFile.Failure) {
            // The sandbox does not prevent reading the status of a file.
            try SmallFile.check(path, sharedWith: access)
        } catch {
            throw failure(error)
        }
        do throws(CommandFailure) {
            let command = SecretSource.printing(path)
            let result = try await commands.run(
                command,
                environment: [:],
                timeLimit: ReloadableFile.timeLimit
            )
            if result.status == 0 { return result.standardOutput }
        } catch {}
        throw failure(refusal)
    }

    private func failure(_ failure: SmallFile.Failure) -> RefreshFailure {
        RefreshFailure(failure, of: "\(key) \(path)")
    }
}

extension RefreshFailure {
    /// Creates the failure for a configured file that cannot be read now.
    ///
    /// - Parameters:
    ///   - failure: The reason the file cannot be read.
    ///   - origin: The configuration key and path of the file.
    init(_ failure: SmallFile.Failure, of origin: String) {
        self.init(kind: .helperFailed, message: "\(origin): \(failure.message)", remedy: failure.remedy)
    }
}
