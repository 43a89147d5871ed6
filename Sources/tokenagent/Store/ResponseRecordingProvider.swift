// SPDX-License-Identifier: MIT

import Logging
import SealedStore
import TokenCore

/// The provider of response recordings, which also logs recovered responses that are not used.
struct ResponseRecordingProvider: ResponseRecordingProviding {
    let store: SessionStore
    let logger: Logger

    func responseRecording(of session: SessionName) -> ResponseRecording? {
        store.responseRecording(of: session)
    }

    func answerWasRefused(of session: SessionName, _ reason: String) {
        logger.warning(
            "response to an interrupted refresh not used",
            metadata: ["session": "\(session)", "reason": "\(reason)"]
        )
    }
}
