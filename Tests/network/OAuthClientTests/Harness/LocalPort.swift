// SPDX-License-Identifier: MIT

import Glibc
import TestSupport

/// A listening TCP socket that accepts nothing, on an address of this machine.
final class LocalPort: Sendable {
    let port: UInt16
    private let descriptor: Int32

    /// Listens on an IPv4 address; port 0 is any.
    ///
    /// `backlog` is the size of the queue. `sharing` asks the kernel to share the port.
    init(_ address: String, port: UInt16 = 0, backlog: Int32 = 16, sharing: Bool = false) throws {
        let descriptor = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        self.descriptor = descriptor
        var yes: Int32 = 1
        if sharing {
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &yes, socklen_t(MemoryLayout<Int32>.size))
        }
        var name = LocalPort.name(address, port)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = LocalPort.withAddress(&name) { bind(descriptor, $0, size) }
        guard code == 0, listen(descriptor, backlog) == 0 else {
            let failure = SystemFailure("listen on \(address):\(port)")
            close(descriptor)
            throw failure
        }
        _ = LocalPort.withAddress(&name) { getsockname(descriptor, $0, &size) }
        self.port = UInt16(bigEndian: name.sin_port)
    }

    /// Listens on `[::1]`.
    init(onIPv6 port: UInt16) throws {
        let descriptor = socket(
            AF_INET6,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        self.descriptor = descriptor
        var name = sockaddr_in6()
        name.sin6_family = sa_family_t(AF_INET6)
        name.sin6_port = port.bigEndian
        inet_pton(AF_INET6, "::1", &name.sin6_addr)
        let code = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
        guard code == 0, listen(descriptor, 16) == 0 else {
            let failure = SystemFailure("listen on [::1]:\(port)")
            close(descriptor)
            throw failure
        }
        self.port = port
    }

    deinit {
        close(descriptor)
    }

    /// Fills the queue, so that the first packets of further connections are dropped as by a firewall.
    ///
    /// - Returns: the connections that keep the queue full.
    func fill() -> [HeldConnection] {
        (0..<4).map { _ in HeldConnection(to: port) }
    }

    /// Whether a connection is waiting to be accepted.
    var isAsked: Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, 0) > 0
    }

    /// Connects a socket to this port of 127.0.0.1.
    static func connect(_ descriptor: Int32, to port: UInt16) -> Bool {
        var name = name("127.0.0.1", port)
        let code = withAddress(&name) {
            systemConnect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        return code == 0
    }

    fileprivate static func name(_ address: String, _ port: UInt16) -> sockaddr_in {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        inet_pton(AF_INET, address, &name.sin_addr)
        return name
    }

    fileprivate static func withAddress(
        _ name: inout sockaddr_in,
        _ body: (UnsafeMutablePointer<sockaddr>) -> Int32
    ) -> Int32 {
        withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}

/// A pending connection that is open until its last reference is released.
final class HeldConnection: Sendable {
    private let descriptor: Int32

    init(to port: UInt16) {
        descriptor = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        _ = LocalPort.connect(descriptor, to: port)
    }

    deinit {
        close(descriptor)
    }
}

/// `connect(2)`, whose name `LocalPort.connect` hides.
private func systemConnect(
    _ descriptor: Int32,
    _ address: UnsafePointer<sockaddr>,
    _ size: socklen_t
) -> Int32 {
    connect(descriptor, address, size)
}
