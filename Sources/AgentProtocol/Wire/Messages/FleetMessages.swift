// SPDX-License-Identifier: MIT

/// The description of a fleet's key files that `tokenagent` has written, for `tokenctl fleet`.
package typealias FleetKeyFilesMessage = WireMessage<FleetKeyFilesMembers>

package struct FleetKeyFilesMembers: WireMemberTable {
    /// The name of the fleet.
    package let fleet = WireMember<String>("fleet")
    /// The number of the key that everything is sealed under from now on, counted from 1.
    package let epoch = WireMember<Int64>("epoch")
    /// The number of the key that is not used yet.
    package let staged = WireMember<Int64>("staged", isOptional: true)
    package let keepersFile = WireMember<String>("keepers_file")
    package let readersFile = WireMember<String>("readers_file")
    /// The prefix of the fleet's keys in etcd.
    package let prefix = WireMember<String>("etcd_prefix")

    package static let table = Self()
}
