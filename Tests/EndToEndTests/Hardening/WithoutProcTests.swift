// SPDX-License-Identifier: MIT

import TestSupport
import Testing

private enum Sandbox {
    static let enter = "unshare -rm sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sandbox"
    static let works = Program.succeeds("\(enter) true")
    /// Enters one with process numbers of its own, in which a user may mount `/proc`, and mounts it.
    static let mount =
        "unshare -rmpf sh -c 'mount -t tmpfs none /proc && mount -t proc proc /proc && exec \"$@\"' sandbox"
    static let mounts = Program.succeeds("\(mount) true")
}

/// A chroot and many sandboxes have no `/proc`.
extension EndToEnd {
    @Suite(.full, .enabled(if: Sandbox.works, "mount namespaces are not allowed here"))
    struct WithoutProcTests {
        @Test func `tokenctl does its work`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let get = try await scene.agent.shell("\(Sandbox.enter) tokenctl get work")
            #expect(get.status == 0 && get.line == token, "\(get)")
            let version = try await scene.agent.shell("\(Sandbox.enter) tokenctl --version")
            #expect(version.status == 0 && version.standardOutput.contains("tokenctl"), "\(version)")
            let help = try await scene.agent.shell("\(Sandbox.enter) tokenctl get --help")
            #expect(help.status == 0 && help.standardOutput.contains("USAGE: tokenctl get"), "\(help)")
            let kube = try await scene.agent.shell("\(Sandbox.enter) tokenctl kube-credential work")
            #expect(kube.status == 0 && kube.standardOutput.contains(token), "\(kube)")
        }

        @Test func `what it starts is not told how it was started`() async throws {
            let scene = try await Scene.loggedIn()
            let result = try await scene.agent.shell("\(Sandbox.enter) tokenctl exec work -- env")
            #expect(result.status == 0, "\(result)")
            #expect(!result.standardOutput.contains("SWIFT_BACKTRACE"))
        }

        @Test func `what cannot work there says so`() async throws {
            let scene = try await Scene.loggedIn()
            let url = scene.issuer.issuer + "/resource"
            let result = try await scene.agent.shell("\(Sandbox.enter) tokenctl curl work -- -s \(url)")
            #expect(result.status == 1)
            #expect(
                result.complainsInOneLine && result.standardError.contains("Run: mount -t proc proc /proc"),
                "\(result)"
            )
        }

        @Test(.enabled(if: Sandbox.mounts, "/proc cannot be mounted here"))
        func `curl has its file once /proc is mounted, as it is said`() async throws {
            let scene = try await Scene.loggedIn()
            let curl = "tokenctl curl work -- -sf \(scene.issuer.issuer)/resource"
            let refused = try await scene.agent.shell("\(Sandbox.enter) \(curl)")
            #expect(PrintedRemedy(refused, holding: "mount -t proc proc /proc")?.label == "run", "\(refused)")
            let mounted = try await scene.agent.shell("\(Sandbox.mount) \(curl)")
            #expect(mounted.status == 0 && mounted.standardError.isEmpty, "\(mounted)")
        }
    }
}
