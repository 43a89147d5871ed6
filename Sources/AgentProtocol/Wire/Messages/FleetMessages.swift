// SPDX-License-Identifier: MIT

/// What the agent's program says of the files with a fleet's keys that it has written, to `tokenctl fleet`.
package typealias FleetKeyMessage = WireMessage<FleetKeyMembers>

package struct FleetKeyMembers: WireMembers {
    /// What people call the fleet.
    package let fleet = WireMember<String>("fleet")
    /// Which of the fleet's keys everything is sealed under from now on, counted from 1.
    package let epoch = WireMember<Int64>("epoch")
    /// The key that is not used yet.
    package let staged = WireMember<Int64>("staged", isOptional: true)
    package let keepersFile = WireMember<String>("keepers_file")
    package let readersFile = WireMember<String>("readers_file")
    /// What the names of the fleet's keys in etcd begin with.
    package let prefix = WireMember<String>("etcd_prefix")

    package static let table = Self()
}
