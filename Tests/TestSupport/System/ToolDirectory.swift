// SPDX-License-Identifier: MIT

import Glibc

/// A directory with the programs that tests need and that are not part of this package, and no others.
///
/// A machine may have many versions of the clients that `tokenctl setup` supports, and helpers of all kinds.
/// A test that needs one names it in ``including(_:in:)``. All other tests do not see it, whether it is
/// installed or not.
package enum ToolDirectory {
    /// The path of the directory, for `PATH`.
    package static let path: String = {
        let directory = "\(BuiltPrograms.directory)/tools"
        mkdir(directory, 0o755)
        let known = Set(names)
        for stale in File.names(in: directory) where !known.contains(stale) {
            unlink("\(directory)/\(stale)")
        }
        for name in names { link(name, in: directory) }
        return directory
    }()

    /// Returns a `PATH` with the directory, preceded by a directory with further programs of this machine.
    package static func including(_ clients: [String], in directory: TemporaryDirectory) throws -> String {
        try directory.makeDirectory("clients")
        for name in clients { link(name, in: directory.path("clients")) }
        return "\(directory.path("clients")):\(path)"
    }

    private static func link(_ name: String, in directory: String) {
        let places = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"]
        let candidates = places.map { place in "\(place)/\(name)" }
        guard let program = candidates.first(where: { path in access(path, X_OK) == 0 }) else {
            unlink("\(directory)/\(name)")
            return
        }
        let path = "\(directory)/\(name)"
        // Several test runs may create the links at the same time. An existing link is equivalent.
        guard symlink(program, path) != 0, realpath(path, nil) == nil else { return }
        unlink(path)
        symlink(program, path)
    }

    /// The programs of an ordinary system, of Scripts/install-dependencies, and of services that tests start.
    private static let names =
        system + administration + development + network + services

    private static let system = """
        [ arch awk base64 basename bash bc cat chattr chmod chown chroot cksum clear cmp comm cp cut dash date dd df diff dir \
        dirname du echo egrep env expand expr fallocate false fgrep find flock fold gawk getent getopt grep groups gunzip \
        gzip head hexdump hostname iconv id install join kill link ln locale logger logname look ls lsattr man mandoc mawk \
        md5sum mkdir mkfifo mknod mktemp more mv nice nl nohup nproc numfmt od paste perl pgrep pidof pkill printenv printf \
        prlimit ps pwd readlink realpath rev rm rmdir script sed seq setsid sh sha1sum sha256sum sha512sum shuf sleep sort \
        split ssh-add stat stdbuf strings stty sum sync tac tail tar taskset tee test time timeout touch tr true truncate tty \
        umask uname unexpand uniq unlink unshare uptime users wait wc which who whoami xargs xxd xz yes zstd
        """.split(separator: " ").map(String.init)

    private static let administration = """
        blkid bwrap chrt dmesg e2fsck fuser getcap getfacl getfattr groupadd ionice ip iptables losetup lsblk lsof mkfs \
        mkfs.btrfs mkfs.ext4 mkfs.xfs mount mountpoint nft nsenter runuser setcap setfacl setfattr setpriv ss su sudo sysctl \
        tc tune2fs umount useradd
        """.split(separator: " ").map(String.init)

    private static let development = """
        ar as c++ cc clang dpkg dpkg-deb g++ gcc gcore gdb git git-receive-pack git-shell git-upload-archive git-upload-pack ld ldd \
        make nm objcopy pkg-config python3 readelf size strace strip
        """.split(separator: " ").map(String.init)

    private static let network = """
        curl fish less file column free nc openssl scp sftp ssh ssh-agent ssh-keygen sshd wget
        """.split(separator: " ").map(String.init)

    private static let services = """
        dbus-daemon dbus-launch dbus-run-session dbus-send etcd etcdctl gnome-keyring-daemon gpg gpg-agent gpg-connect-agent \
        nginx secret-tool swtpm swtpm_setup systemd-analyze systemd-creds systemd-notify systemd-run systemd-socket-activate \
        tpm2 tpm2_createprimary tpm2_getcap tpm2_nvdefine tpm2_nvincrement tpm2_nvread tpm2_nvreadpublic tpm2_nvundefine \
        tpm2_pcrread tpm2_startup
        """.split(separator: " ").map(String.init)
}
