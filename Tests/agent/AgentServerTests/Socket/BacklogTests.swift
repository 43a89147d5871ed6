// SPDX-License-Identifier: MIT

import Dispatch
import Glibc
import NIOCore
import TestSupport
import Testing

@testable import AgentServer

/// The number of peers that can connect while the agent is busy.
@Suite(.timeLimit(.minutes(10)))
struct BacklogTests {
    /// Runs in its own process, because it needs a higher limit of descriptors.
    @Test(.holds("11")) func `a thousand peers may wait to be accepted, at every socket`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = min(limit.rlim_max, 16_384)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let agent = try await AgentHarness.configured { configuration, directory in
                configuration.sockets = [
                    RestrictedSocket(
                        path: directory.path("more/work.sock"),
                        sessions: [AgentHarness.work]
                    )
                ]
            }
            let inherited = agent.directory.path("given.sock")
            let given = try AgentServer.ListeningSocket.bind(to: inherited)
            let listener = try await agent.listener(
                on: try AgentServer.ListeningSocket.inherited(given.descriptor)
            )
            let counts = [agent.path, agent.directory.path("more/work.sock"), inherited].map { path in
                agent.whileBusy { Waiting(at: path).count }
            }
            print("waiting: \(counts)")
            // The kernel lets one more wait, and no more than this machine allows.
            let most = File.text("/proc/sys/net/core/somaxconn").flatMap { Int($0.dropLast()) } ?? 4_096
            let isEnough = counts.allSatisfy { $0 == min(1_024, most) + 1 }
            withExtendedLifetime(listener) {}
            exit(isEnough ? EXIT_SUCCESS : EXIT_FAILURE)
        }
        let text = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        Attachment.record(text.split(separator: "\n").last.map(String.init) ?? "none", named: "figure")
    }
}

/// Peers that have connected and wait, as many as the kernel lets.
private final class Waiting {
    private var peers: [SocketPeer] = []

    init(at path: String) {
        while peers.count < 5_000, let peer = try? SocketPeer(path, waiting: false) { peers.append(peer) }
    }

    var count: Int { peers.count }
}

extension AgentHarness {
    /// Runs `body` while the loop is blocked.
    fileprivate func whileBusy<Result>(_ body: () -> Result) -> Result {
        let (begun, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        loop.execute {
            begun.signal()
            end.wait()
        }
        begun.wait()
        defer { end.signal() }
        return body()
    }

    /// Accepts at one more socket.
    fileprivate func listener(on socket: AgentServer.ListeningSocket) async throws -> SocketListener {
        let services = ConnectionServices(
            loop: loop,
            agent: RequestReceiver(agent: runtime.agent),
            limits: RequestLimits(),
            register: ConnectionRegister(limits: .ofThisProcess)
        )
        let listener = SocketListener(services: services, logger: .init(label: "test"))
        try await loop.submit { try listener.start(on: socket) }.get()
        return listener
    }
}
