// SPDX-License-Identifier: MIT

import Glibc
import Text
import TokenCore

/// A file that another program renews, read anew each time: an assertion, a certificate with its key.
///
/// It may be a link and may be root's, as Kubernetes' projected tokens are. What the confined agent has in reach is its
/// directory as that was at the start; in a directory that is new the process that runs commands reads it.
package struct ReloadableFile: Sendable {
    /// The key that names it, for messages.
    let key: String
    let path: String
    /// Who else may have access to it.
    let access: SmallFile.Access

    /// Bytes: what a command may print, and more than any assertion or chain of certificates.
    static let limit = 64 << 10
    /// It is on a disk, or in memory.
    private static let timeLimit: Duration = .seconds(5)

    /// The command that prints the file at `path`, which the configuration thereby allows.
    package static func command(for path: String) -> [String] { ["cat", "--", path] }

    /// All bytes of the file.
    ///
    /// - Parameter commands: reads what our confinement keeps from us.
    /// - Returns: its bytes, at most ``limit``.
    /// - Throws: `helper_failed` with what is wrong with it: the program that writes it may be late.
    func read(_ commands: any CommandRunning) async throws(RefreshFailure) -> [UInt8] {
        let refusal: SmallFile.Failure
        do throws(SmallFile.Failure) {
            return try SmallFile.read(path, sharedWith: access, limit: ReloadableFile.limit)
        } catch {
            refusal = error
        }
        guard refusal.isBlockedBySandbox else { throw failure(refusal) }
        do throws(SmallFile.Failure) {
            // Its status can be had through any confinement.
            try SmallFile.check(path, sharedWith: access)
        } catch {
            throw failure(error)
        }
        do throws(CommandFailure) {
            let command = ReloadableFile.command(for: path)
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
        RefreshFailure(
            kind: .helperFailed,
            message: "\(key) \(path): \(failure.message)",
            remedy: failure.remedy
        )
    }
}
