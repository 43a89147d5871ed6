// SPDX-License-Identifier: MIT

/// What a person is shown of a fleet: everything that etcd has of it, at one moment.
package struct FleetSurvey: Equatable, Sendable {
    /// One session.
    package struct Session: Equatable, Sendable {
        /// `nil`: nobody has logged in, or what is there does not open.
        package var record: FleetHeader?
        /// Who has sent the present refresh token, or is about to, without an answer so far.
        package var intent: FleetIntent?
        /// Answers that lie beside the record.
        package var lates = 0
        /// Why something of it does not open.
        package var trouble: FleetStoreError?

        package init() {}
    }

    /// One member of etcd.
    package struct Member: Equatable, Sendable {
        package var endpoint: String
        /// `nil`: it does not answer, as ``trouble`` says.
        package var version: String?
        /// Whether it has a leader, without which nothing can be read or written.
        package var hasLeader = false
        /// Whether it answers, but it and this host do not let each other in.
        package var isRefusing = false
        /// Bytes of its database.
        package var size: Int64 = 0
        package var trouble: FleetStoreError?

        package init(endpoint: String) {
            self.endpoint = endpoint
        }
    }

    package var sessions: [SessionName: Session] = [:]
    package var hosts: [HostDescription] = []
    package var members: [Member] = []
    package var time: FleetTime?
    /// How far this host's wall clock is ahead of etcd's.
    package var clockLead: Duration?
    /// Why sessions or hosts could not be asked for; how the members are is told all the same.
    package var trouble: FleetStoreError?
    /// What is wrong with the watch, although everything else is answered.
    package var watchTrouble: FleetStoreError?

    package init() {}
}
