// SPDX-License-Identifier: MIT

import NIOCore
import SealedStore
import TokenCore

/// The refresh that the current task belongs to, when it shows a refresh token.
///
/// Its token requests get a guard each, and the answer to an earlier one of the session is looked for first.
final class GuardedAttempt: Sendable {
    @TaskLocal static var current: GuardedAttempt?

    let session: SessionName
    /// Where the answer is recorded; `nil`: nowhere.
    let place: ResponseRecording?
    /// Moments that the request must not be later than; `nil`: the transport's own limits.
    let fence: RefreshRequestDeadlines?
    private let keeper: (any ResponseRecordingProviding)?

    init(session: SessionName, fence: RefreshRequestDeadlines?, keeper: (any ResponseRecordingProviding)?) {
        self.session = session
        self.fence = fence
        self.keeper = keeper
        place = keeper?.responseRecording(of: session)
    }

    /// The attempt that needs a guard for `request`.
    ///
    /// Nothing is recorded of what is said in the clear, so there only a fence needs one.
    static func guarding(_ request: OutgoingRequest) -> GuardedAttempt? {
        guard request.hasParameters, let current, request.url.isTLS || current.fence != nil else {
            return nil
        }
        return current
    }

    /// How long to wait before another look at an answer that is being recorded.
    private static let delay = Duration.milliseconds(20)
    /// Waits that cover the longest exchange: whoever records ends with it.
    private static let looks = 2_000

    /// The answer to `request` that an earlier process has asked for, if there is one; it is waited for if it may still
    /// come.
    func earlierAnswer(to request: OutgoingRequest, on eventLoop: any EventLoop) async -> ServerResponse? {
        guard let place else { return nil }
        for _ in 0..<GuardedAttempt.looks {
            switch place.look() {
            case .none:
                place.dropLeft(damaged: false)
                return nil
            case .refused(let reason): return refuse(place, reason)
            case .pending: break
            case .recorded(let recorded) where !recorded.isNews && !recorded.isFinal: break
            case .recorded(let recorded):
                do throws(UnusableRecordingError) {
                    if let reply = try await recorded.reply(to: request, in: place, on: eventLoop) {
                        // It is gone once what it brings is stored.
                        place.answered()
                        return reply
                    }
                    place.endReading(of: recorded)
                    guard !recorded.isFinal else { throw .incomplete }
                } catch {
                    return refuse(place, error.description, isDamage: error.isDamage)
                }
            }
            guard (try? await Task.sleep(for: GuardedAttempt.delay, clock: .continuous)) != nil else {
                return nil
            }
        }
        return nil
    }

    private func refuse(
        _ place: ResponseRecording,
        _ reason: String,
        isDamage: Bool = true
    ) -> ServerResponse? {
        place.dropLeft(damaged: isDamage)
        keeper?.answerWasRefused(of: session, reason)
        return nil
    }
}

extension RecordedResponse {
    /// The answer as the network would have brought it; `nil`: it is not complete.
    fileprivate func reply(
        to request: OutgoingRequest,
        in place: ResponseRecording,
        on eventLoop: any EventLoop
    ) async throws(UnusableRecordingError) -> ServerResponse? {
        guard let note = RecordingNote(note), let secret = TLSSecret(line: note.key) else {
            throw .unreadable
        }
        guard note.url == request.url.description else { throw .otherServer(note.url) }
        let recording = try DecryptedRecording(stream, secret)
        // A kill while the server thinks says nothing about its answer.
        guard !recording.plaintext.isEmpty || recording.hasEnded else { return nil }
        place.beginReading(of: self)
        var reply = try await RecordedResponseParser.read(
            recording,
            readsBody: request.readsBody,
            on: eventLoop
        )
        reply?.sentAt = sentAt
        return reply
    }
}
