// SPDX-License-Identifier: MIT

/// An overview of a fleet for the user: everything that etcd has of it, at one moment.
package struct FleetSurvey: Equatable, Sendable {
    /// The state of one session.
    package struct StoredSession: Equatable, Sendable {
        /// The record, or `nil` if no login exists or the record cannot be opened.
        package var record: FleetHeader?
        /// The intent of the host that has sent the current refresh token, or is about to, without a response
        /// so far.
        package var intent: FleetIntent?
        /// The number of late responses stored with the record.
        package var lateResults = 0
        /// The reason a value of the session cannot be opened.
        package var storeError: FleetStoreError?

        package init() {}
    }

    /// The state of one etcd member.
    package struct EtcdMember: Equatable, Sendable {
        package var endpoint: String
        /// The version, or `nil` if the member does not respond, as ``storeError`` says.
        package var version: String?
        /// Whether the member has a leader, without which nothing can be read or written.
        package var hasLeader = false
        /// Whether the member responds but denies this host access, or one of them does not trust the
        /// certificate of the other.
        package var isRefusing = false
        /// The size of its database in bytes.
        package var size: Int64 = 0
        package var storeError: FleetStoreError?

        package init(endpoint: String) {
            self.endpoint = endpoint
        }
    }

    package var sessions: [SessionName: StoredSession] = [:]
    package var hosts: [HostDescription] = []
    package var members: [EtcdMember] = []
    package var time: FleetTime?
    /// The time by which this host's wall clock is ahead of etcd's.
    package var clockLead: Duration?
    /// The reason sessions or hosts could not be read.
    ///
    /// The members are reported nevertheless.
    package var storeError: FleetStoreError?
    /// The reason the watch does not work, although other requests do.
    package var watchError: FleetStoreError?

    package init() {}
}
