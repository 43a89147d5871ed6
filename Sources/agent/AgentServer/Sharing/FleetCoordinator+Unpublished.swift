// SPDX-License-Identifier: MIT

import TokenCore

extension FleetCoordinator {
    /// Returns the change that only this host has of the session `name`, or `nil` if there is none.
    private func change(of name: SessionName) -> UnpublishedChange? {
        let isRecovering = isRecovering(name)
        if let session = self[name] {
            return UnpublishedChange(of: session, isRecovering: isRecovering)
        } else if let joining = joiningSession(name) {
            return UnpublishedChange(of: joining, isRecovering: isRecovering, at: port.role)
        } else {
            return nil
        }
    }

    /// Returns whether the session looks on this host for the response to a request from before the agent
    /// stopped.
    ///
    /// A session that does not look for one has nothing to wait for.
    private func isRecovering(_ name: SessionName) -> Bool {
        guard parts.registry[name]?.session.isRefreshing == true else { return false }
        if let session = self[name] { return session.member.isInterrupted }
        return joiningSession(name)?.keeping?.memory.sending != nil
    }

    /// Returns the failure for a change that the other hosts cannot continue without, or `nil` if there is
    /// none.
    func refusalToLeave(_ name: SessionName) -> RequestFailure? {
        change(of: name) == .login ? nil : unpublishedChange(of: name)
    }

    /// Returns the failure for any change that only this host has, logins included, or `nil` if there is
    /// none.
    func unpublishedChange(of name: SessionName) -> RequestFailure? {
        change(of: name).map { debt in RequestFailure(debt, self[name]?.storeError ?? storeError, of: name) }
    }

    /// Returns whether a change that only this host has is about to be written to etcd.
    func isPublishing(_ name: SessionName) -> Bool {
        guard let change = change(of: name), change != .bufferedResponse else { return false }
        guard let session = self[name] else { return isOpening }
        let isUnanswered = session.isExchanging || isRecovering(name)
        return isUnanswered || storeError == nil && session.storeError == nil
    }
}
