// SPDX-License-Identifier: MIT

extension FileRules {
    /// What libraries read at any time: name resolution with its modules, certificates, time zones, chance.
    package static let namesAndCertificates = [
        "/etc", "/usr", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/etc/resolv.conf",
        "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/var/lib/ca-certificates",
        "/var/lib/sss/mc", "/sys/devices/system/cpu", "/dev/random", "/dev/urandom",
    ]
}
