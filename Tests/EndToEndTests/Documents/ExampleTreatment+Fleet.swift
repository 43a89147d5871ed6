// SPDX-License-Identifier: MIT

/// The examples of `tokenagent-fleet(7)`; those for three members of etcd are carried out by `FleetPageTests`.
extension ExampleTreatment {
    private static let threeMembers = "FleetPageTests carry it out with three members of etcd"
    /// A command that checks the syntax of the example as a shell script.
    private static let parsing = #"printf '%s\n' "$EXAMPLE" | sed 's/^\$ //' | sh -n"#

    static let fleet = [
        ExampleTreatment(
            "$ umask 077\n$ tokenctl fleet init",
            .runs,
            shows: ["Created the keys of the fleet build:"]
        ),
        ExampleTreatment("umask 077\nkey=", .isReadBy(parsing, reason: threeMembers)),
        ExampleTreatment(
            "ETCD_NAME=etcd1\n",
            .isReadBy(#"set -a; eval "$EXAMPLE"; printenv ETCD_NAME"#, reason: threeMembers),
            shows: ["etcd1"]
        ),
        ExampleTreatment("umask 077\nexport ETCDCTL_API", .isReadBy(parsing, reason: threeMembers)),
        ExampleTreatment("for n in 1 2 3; do\n    tar", .isReadBy(parsing, reason: threeMembers)),
        ExampleTreatment("for n in 1 2 3; do\n    ssh root", .isReadBy(parsing, reason: threeMembers)),
        ExampleTreatment("export ETCDCTL_API=3 ETCDCTL_CACERT", .isReadBy(parsing, reason: threeMembers)),
        ExampleTreatment("for n in 1 2 3; do\n    ssh host", .isReadBy(parsing, reason: threeMembers)),
        ExampleTreatment("[fleet]\nname                 = \"build\"", .configuration),
        ExampleTreatment("$ tokenctl config check", .runs, shows: ["OK ("]),
        ExampleTreatment("$ tokenctl shutdown", .runs),
        ExampleTreatment("$ tokenctl login work", .runs),
        ExampleTreatment("$ tokenctl doctor", .runs, shows: ["ok"]),
        ExampleTreatment("$ tokenctl get work", .runs, shows: ["TOKEN"]),
        ExampleTreatment("[fleet]\nname              = \"build\"", .configuration),
        ExampleTreatment("$ ETCDCTL_USER=root:", .isReadBy(parsing, reason: threeMembers)),
        ExampleTreatment("etcdctl snapshot restore", .isReadBy(parsing, reason: threeMembers)),
        ExampleTreatment(
            "$ tokenctl fleet rekey",
            .isReadBy(
                "tokenctl fleet init --name build --key-file fleet.key >made && ${EXAMPLE#$ }",
                reason: "there has to be a fleet"
            ),
            shows: ["The fleet build has key 2 now:"]
        ),
        ExampleTreatment(
            "$ tokenctl fleet rekey --stage",
            .isReadBy(
                "tokenctl fleet init --name build --key-file fleet.key >made && ${EXAMPLE#$ }",
                reason: "there has to be a fleet"
            ),
            shows: ["The fleet build has key 1, and key 2 is staged:"]
        ),
        ExampleTreatment(
            "$ tokenctl fleet rekey --activate",
            .isReadBy(
                #"""
                tokenctl fleet init --name build --key-file fleet.key >made &&
                    tokenctl fleet rekey --stage --key-file fleet.key >staged && ${EXAMPLE#$ }
                """#,
                reason: "there has to be a fleet with a staged key"
            ),
            shows: ["The fleet build has key 2 now:", "The other hosts follow automatically."]
        ),
        ExampleTreatment("$ tokenctl refresh work", .runs),
    ]
}
