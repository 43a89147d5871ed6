// SPDX-License-Identifier: MIT

extension FileRules {
    /// The paths that libraries may read at any time: name resolution and its modules, certificates, time
    /// zones, random numbers.
    package static let namesAndCertificates = [
        "/etc", "/usr", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/etc/resolv.conf",
        "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/var/lib/ca-certificates",
        "/var/lib/sss/mc", "/sys/devices/system/cpu", "/dev/random", "/dev/urandom",
    ]
}
