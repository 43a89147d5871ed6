// SPDX-License-Identifier: MIT

import Text

/// The body of `POST …/login`.
package struct LoginRequestMembers: WireMemberTable {
    package let flow = WireMember<String>("flow", isOptional: true)
    package let paste = WireMember<Bool>("paste", isOptional: true)
    package let username = WireMember<String>("username", isOptional: true)
    package let secret = WireMember<String>("secret", isOptional: true)
    package let scope = WireMember<String>("scope", isOptional: true)
    package let contextClasses = WireMember<String>("acr_values", isOptional: true)
    package let maximumAge = WireMember<Int64>("max_age", isOptional: true)
    /// The issuer that the session's resource must name in this login.
    package let issuer = WireMember<String>("issuer", isOptional: true)

    package static let table = Self()
}

/// The body of `POST …/login/ID`.
package struct LoginAnswerRequestMembers: WireMemberTable {
    package let value = WireMember<String>("value")

    package static let table = Self()
}

/// The response of `POST …/login/ID`.
package typealias LoginAnswerMessage = WireMessage<LoginAnswerResponseMembers>

package struct LoginAnswerResponseMembers: WireMemberTable {
    package let login = WireMember<String>("login")

    package static let table = Self()
}

/// The body of `POST …/client-secret`.
package struct ClientSecretRequestMembers: WireMemberTable {
    package let secret = WireMember<String>("secret")

    package static let table = Self()
}

/// The response of `POST …/client-secret`.
package typealias ClientSecretMessage = WireMessage<ClientSecretResponseMembers>

package struct ClientSecretResponseMembers: WireMemberTable {
    package let session = WireMember<String>("session")

    package static let table = Self()
}

/// One line of the response of `POST …/login`.
package enum LoginProgress: Sendable {
    case openURL(OpenURLMessage)
    case userCode(UserCodeMessage)
    case need(PromptMessage)
    case notice(NoticeMessage)
    /// The last line of a successful login.
    case done(DoneMessage)
    /// The last line of a failed login.
    case failed(FailedMessage)

    /// The kind of a line, as spelled on the socket.
    package enum Event: String, CaseIterable, WireValue {
        case openURL = "open_url"
        case userCode = "user_code"
        case need
        case notice
        case done
        case failed
    }

    /// Parses a line, or returns `nil` if this release does not know its event.
    package init?(_ line: JSONObject) {
        switch WireMessage<EventNameMembers>(line).event {
        case .openURL: self = .openURL(OpenURLMessage(line))
        case .userCode: self = .userCode(UserCodeMessage(line))
        case .need: self = .need(PromptMessage(line))
        case .notice: self = .notice(NoticeMessage(line))
        case .done: self = .done(DoneMessage(line))
        case .failed: self = .failed(FailedMessage(line))
        case nil: return nil
        }
    }

    /// The line, with its event first.
    package var json: JSONValue {
        switch self {
        case .openURL(let message): Self.line(.openURL, message)
        case .userCode(let message): Self.line(.userCode, message)
        case .need(let message): Self.line(.need, message)
        case .notice(let message): Self.line(.notice, message)
        case .done(let message): Self.line(.done, message)
        case .failed(let message): Self.line(.failed, message)
        }
    }

    private static func line(_ event: Event, _ message: WireMessage<some WireMemberTable>) -> JSONValue {
        WireMessage<EventNameMembers> { $0.event = event }.followed(by: message).json
    }
}

struct EventNameMembers: WireMemberTable {
    let event = WireMember<LoginProgress.Event>("event")

    static let table = Self()
}

/// A URL to open in a browser.
package typealias OpenURLMessage = WireMessage<OpenURLMembers>

package struct OpenURLMembers: WireMemberTable {
    package let event = WireMember<LoginProgress.Event>("event")
    package let login = WireMember<String>("login")
    package let url = WireMember<String>("url")
    package let redirectURI = WireMember<String>("redirect_uri", isOptional: true)
    package let expiresIn = WireMember<Int64>("expires_in", .seconds, isOptional: true)

    package static let table = Self()
}

/// A code to enter at a URL (RFC 8628 §3.2).
package typealias UserCodeMessage = WireMessage<UserCodeMembers>

package struct UserCodeMembers: WireMemberTable {
    package let event = WireMember<LoginProgress.Event>("event")
    package let login = WireMember<String>("login")
    package let userCode = WireMember<String>("user_code")
    package let verificationURI = WireMember<String>("verification_uri")
    package let completeURI = WireMember<String>("verification_uri_complete", isOptional: true)
    package let expiresIn = WireMember<Int64>("expires_in", .seconds)

    package static let table = Self()
}

/// A prompt, answered by `POST …/login/ID`.
package typealias PromptMessage = WireMessage<PromptMembers>

package struct PromptMembers: WireMemberTable {
    package let event = WireMember<LoginProgress.Event>("event")
    package let login = WireMember<String>("login")
    package let kind = WireMember<String>("kind")
    package let prompt = WireMember<String>("prompt")
    package let isSecret = WireMember<Bool>("secret")

    package static let table = Self()
}

/// A message to the user, after which the login continues.
package typealias NoticeMessage = WireMessage<NoticeMembers>

package struct NoticeMembers: WireMemberTable {
    package let event = WireMember<LoginProgress.Event>("event")
    package let message = WireMember<String>("message")

    package static let table = Self()
}

/// The end of a successful login: the session has a token.
package typealias DoneMessage = WireMessage<DoneMembers>

package struct DoneMembers: WireMemberTable {
    package let event = WireMember<LoginProgress.Event>("event")
    package let session = WireMember<String>("session")
    package let expiresAt = WireMember<Int64>("expires_at", .time, isOptional: true)
    package let scope = WireMember<[String]>("scope")
    package let notes = WireMember<[NoteMessage]>("notes", isOptional: true)

    package static let table = Self()
}

/// The end of a failed login: the session is unchanged.
package typealias FailedMessage = WireMessage<FailedMembers>

package struct FailedMembers: WireMemberTable {
    package let event = WireMember<LoginProgress.Event>("event")
    package let error = WireMember<FailureMessage>("error")

    package static let table = Self()
}
