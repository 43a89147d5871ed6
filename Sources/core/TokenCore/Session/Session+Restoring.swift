// SPDX-License-Identifier: MIT

extension Session {
    /// Creates a session from its record.
    ///
    /// If an intent to refresh was found, the refresh token may have been sent. Its response is read where it
    /// is stored here, or requested again, after ``InterruptedRefresh/wait``.
    ///
    /// - Parameters:
    ///   - snapshot: the latest durable record.
    ///   - name: the session's name.
    ///   - policy: its current timing settings.
    ///   - interruption: the unfinished refresh, or `nil` if no intent was found.
    ///   - moment: the current time.
    package init(
        restoring snapshot: SessionSnapshot,
        name: SessionName,
        policy: SessionPolicy,
        interruption: InterruptedRefresh?,
        at moment: Moment
    ) {
        var login = Login(snapshot, at: moment)
        login.delegateRefresh(to: policy)
        if let interruption {
            login.use = .unanswered
            login.interruptions = interruption.starts
        }
        var state = Session.restoredState(snapshot, login, policy, interruption, at: moment)
        if policy.isShared, snapshot.isHereAlone, case .loggedOut(var ended) = state {
            ended.isHereAlone = true
            state = .loggedOut(ended)
        }
        self.init(name: name, policy: policy, restored: state)
        restoredAt = moment.now
    }

    /// Creates a session whose record could not be used.
    package init(lost reason: EndReason, message: String, name: SessionName, policy: SessionPolicy) {
        let ended = EndedLogin(reason: reason, message: message, afterlife: .none)
        self.init(name: name, policy: policy, restored: .loggedOut(ended))
    }

    private static func restoredState(
        _ snapshot: SessionSnapshot,
        _ login: Login,
        _ policy: SessionPolicy,
        _ interruption: InterruptedRefresh?,
        at moment: Moment
    ) -> State {
        switch snapshot.standing {
        case .loggedIn:
            guard let interruption else { return .ready(login) }
            let times = interruption.starts > 1 ? " \(interruption.starts) times" : ""
            let message = "the agent stopped during a refresh\(times)"
            return .retrying(
                login,
                RetryState(
                    reason: .start,
                    latest: RefreshFailure(kind: .ambiguous, message: message),
                    nextTry: moment.now + interruption.wait,
                    lostAnswers: 1
                )
            )
        case .ended(let reason, let quarantinedUntil):
            let until = quarantinedUntil.map(moment.instant(at:)) ?? moment.now + RetrySchedule.quarantine
            let ended = Session.restoredEnd(
                reason,
                snapshot.ending,
                login,
                policy,
                until: until,
                at: moment.now
            )
            return .loggedOut(ended)
        }
    }

    private static func restoredEnd(
        _ reason: EndReason,
        _ details: LoginEndDetails?,
        _ login: Login,
        _ policy: SessionPolicy,
        until: Instant,
        at now: Instant
    ) -> EndedLogin {
        // Older records contain only the reason.
        let message = details?.message ?? "the session ended before the agent was started or unlocked"
        guard reason == .loggedOut else {
            let isAskedAgain = reason.consequences.isAskedAgain && !policy.isShared
            let probeAt = isAskedAgain ? now + RetrySchedule.unexplainedRetry : nil
            return EndedLogin(
                reason: reason,
                message: message,
                at: details?.at,
                datedAt: now,
                afterlife: .quarantined(login, erasedAt: until, probeAt: probeAt)
            )
        }
        // The tokens were revoked, and the record contains only the fleet data.
        guard !login.secrets.isEmpty else {
            return EndedLogin(reason: reason, message: message, at: details?.at, afterlife: .none)
        }
        let request = Session.revocationRequest(for: login)
        return EndedLogin(
            reason: reason,
            message: message,
            at: details?.at,
            datedAt: now,
            afterlife: .revoking(
                login,
                request,
                retryAt: now,
                failures: 0,
                givenUpAt: max(until, now + RetrySchedule.wallClockGrace)
            )
        )
    }

    /// Returns the record from which a restart restores the session, or `nil` if there is nothing to store.
    package func snapshot(at moment: Moment) -> SessionSnapshot? {
        switch state {
        case .ready(let login), .retrying(let login, _), .suspended(let login, _):
            return login.snapshot(standing: .loggedIn, at: moment)
        case .refreshing(let login, let attempt):
            guard case .committing(_, let renewed, _) = attempt.phase else {
                return login.snapshot(standing: .loggedIn, at: moment)
            }
            return renewed.snapshot(standing: .loggedIn, at: moment)
        case .loggedOut(let ended), .probing(let ended, _, _), .reauthenticating(let ended, _):
            return ended.snapshot(at: moment)
        }
    }
}

extension EndedLogin {
    /// Returns the contents of the record, or `nil` if there is none.
    func snapshot(at moment: Moment) -> SessionSnapshot? {
        switch afterlife {
        case .none: return nil
        case .quarantined(let login, let until, _), .revoking(let login, _, _, _, let until):
            let standing = SessionSnapshot.LoginState.ended(
                reason,
                quarantinedUntil: moment.wallTime(at: until)
            )
            var snapshot = login.snapshot(standing: standing, at: moment)
            snapshot.ending = details
            return snapshot
        }
    }
}
