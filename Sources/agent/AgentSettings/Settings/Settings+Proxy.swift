// SPDX-License-Identifier: MIT

import AgentProtocol
import ServerSettings
import TokenCore

extension Settings {
    /// Returns the forward proxy of `session`, otherwise that for all sessions.
    package func proxy(of session: SessionName) -> ProxySetting {
        sessions.first { $0.name == session }?.trust.proxy ?? proxy
    }

    /// Returns the forward proxy of the session for the resource at `address`, otherwise that for all sessions.
    package func proxy(for address: ResourceAddress) -> ProxySetting {
        let messages = sessions.map { session in
            SessionMessage {
                $0.session = session.name.description
                $0.resource = session.server.resourceAddress
                $0.resources = session.resources
            }
        }
        return address.session(among: messages).flatMap { SessionName($0) }.map(proxy(of:)) ?? proxy
    }
}
