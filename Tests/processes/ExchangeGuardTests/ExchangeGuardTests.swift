// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing

@testable import ExchangeGuard

/// The real process, between a test that plays the agent and one that plays the server.
struct ExchangeGuardTests {
    /// Brings the exchange to where the request is about to be sent.
    private func greet(_ scene: GuardScene) {
        scene.say("hello")
        #expect(scene.request() == "hello")
        scene.answer("greeting")
        #expect(scene.frame()?.text == "greeting")
    }

    @Test func `an exchange goes through, and all the server said is kept first`() async throws {
        let scene = try GuardScene()
        greet(scene)
        scene.arm(.seconds(10))
        scene.say("re")
        scene.say("quest")
        scene.send(GuardFrame.whole.head(0))
        #expect(scene.frame()?.kind == .sending)
        #expect(scene.request() == "request")
        scene.answer("answer")
        #expect(scene.frame()?.text == "answer")
        #expect(scene.kept(4, at: 0) == "HEAD")
        #expect(scene.kept(100, at: ResponseRecordingLayout.headRoom) == "greetinganswer")
        scene.send(GuardFrame.done.head(0))
        #expect(try await scene.ending() == 0)
    }

    @Test(.holds("254")) func `nothing of a request is sent before it is whole`() async throws {
        let scene = try GuardScene()
        greet(scene)
        scene.arm(.seconds(10))
        scene.say("requ")
        scene.die()
        #expect(try await scene.ending() == 0)
        #expect(scene.request() == nil)
    }

    @Test(.holds("254")) func `a moment that has passed lets nothing out`() async throws {
        let scene = try GuardScene()
        greet(scene)
        scene.arm(.seconds(-1))
        scene.say("request")
        scene.send(GuardFrame.whole.head(0))
        #expect(try await scene.ending() != nil)
        #expect(scene.request() == nil)
        #expect(scene.frame() == nil)
    }

    @Test(.holds("254"))
    func `an armed guard that is stopped dies at the moment, and the connection with it`() async throws {
        let scene = try GuardScene()
        greet(scene)
        scene.arm(.seconds(2))
        // Behind the frame that arms it.
        scene.answer("armed")
        #expect(scene.frame()?.text == "armed")
        scene.signal(SIGSTOP)
        #expect(try await scene.hasStopped())
        scene.say("request")
        scene.send(GuardFrame.whole.head(0))
        // Nobody tells it to go on.
        #expect(try await scene.ending() == SIGKILL)
        #expect(scene.request() == nil)
        #expect(scene.frame() == nil)
    }

    @Test(.holds("254")) func `an agent that stops before its request is whole sends nothing late`()
        async throws
    {
        let scene = try GuardScene()
        greet(scene)
        scene.arm(.milliseconds(300))
        scene.say("requ")
        #expect(try await scene.ending() == SIGKILL)
        #expect(scene.request() == nil)
    }

    @Test(.holds("254")) func `a guard that was stopped before it was armed sends nothing late`() async throws
    {
        let scene = try GuardScene()
        greet(scene)
        scene.signal(SIGSTOP)
        #expect(try await scene.hasStopped())
        let moment = GuardScene.now + 200_000_000
        scene.send(GuardArming(sendBefore: moment, arriveBefore: .max, head: []).frame)
        scene.say("request")
        scene.send(GuardFrame.whole.head(0))
        #expect(try await Polling.until { GuardScene.now > moment })
        scene.signal(SIGCONT)
        #expect(try await scene.ending() != nil)
        #expect(scene.request() == nil)
    }

    @Test func `after the request the answer has its own time`() async throws {
        let scene = try GuardScene(end: .milliseconds(1500))
        greet(scene)
        scene.arm(.milliseconds(500))
        scene.say("request")
        scene.send(GuardFrame.whole.head(0))
        #expect(scene.request() == "request")
        #expect(try await scene.ending(within: .milliseconds(600)) == nil)
        #expect(try await scene.ending() == 0)
    }

    @Test(.holds("263")) func `the answer to a request that has arrived is read on, however late it is`()
        async throws
    {
        let scene = try GuardScene()
        greet(scene)
        scene.arm(.milliseconds(300), arriveBefore: .milliseconds(500))
        scene.say("request")
        scene.send(GuardFrame.whole.head(0))
        #expect(scene.frame()?.kind == .sending)
        // The server has not read it yet, and its kernel has.
        #expect(try await scene.ending(within: .milliseconds(800)) == nil)
        #expect(scene.request() == "request")
        scene.answer("answer")
        #expect(scene.frame()?.text == "answer")
        scene.send(GuardFrame.done.head(0))
        #expect(try await scene.ending() == 0)
    }

    @Test(.holds("263")) func `a request that has not arrived in time never arrives`() async throws {
        let scene = try GuardScene(isCongested: true)
        greet(scene)
        scene.arm(.milliseconds(500), arriveBefore: .milliseconds(700))
        for _ in 0..<2 { scene.say(String(repeating: "x", count: 50_000)) }
        scene.send(GuardFrame.whole.head(0))
        #expect(scene.frame()?.kind == .sending)
        #expect(try await scene.ending(within: .seconds(5)) == 0)
        var (count, received) = (0, "")
        repeat {
            received = scene.request() ?? ""
            count += received.utf8.count
        } while !received.isEmpty
        #expect(count < 100_000)
    }

    @Test func `an answer that came while the guard was stopped is read, although its time is over`()
        async throws
    {
        let scene = try GuardScene(end: .seconds(4))
        let end = GuardScene.now + 4_000_000_000
        greet(scene)
        scene.arm(.seconds(3))
        scene.say("request")
        scene.send(GuardFrame.whole.head(0))
        #expect(scene.frame()?.kind == .sending)
        #expect(scene.request() == "request")
        // The guard forwards this only after it has canceled its alarm.
        scene.answer("an")
        #expect(scene.frame()?.text == "an")
        scene.signal(SIGSTOP)
        #expect(try await scene.hasStopped())
        scene.answer("swer")
        #expect(try await Polling.until { GuardScene.now > end })
        scene.signal(SIGCONT)
        #expect(scene.frame()?.text == "swer")
        #expect(try await scene.ending() == 0)
        #expect(scene.kept(100, at: ResponseRecordingLayout.headRoom) == "greetinganswer")
    }

    @Test func `the agent's death leaves the answer in the file`() async throws {
        let scene = try GuardScene()
        greet(scene)
        scene.arm(.seconds(10))
        scene.say("request")
        scene.send(GuardFrame.whole.head(0))
        scene.die()
        #expect(scene.request() == "request")
        for number in [SIGTERM, SIGINT, SIGHUP] { scene.signal(number) }
        scene.answer("answer")
        scene.endServer()
        #expect(try await scene.ending() == 0)
        #expect(scene.kept(4, at: 0) == "HEAD")
        #expect(scene.kept(100, at: ResponseRecordingLayout.headRoom) == "greetinganswer")
    }

    @Test func `the agent's death before the request ends the exchange`() async throws {
        let scene = try GuardScene()
        greet(scene)
        scene.die()
        #expect(try await scene.ending() == 0)
        #expect(scene.request() == nil)
    }

    @Test func `an agent that does not read keeps no more waiting than itself`() async throws {
        let scene = try GuardScene()
        greet(scene)
        scene.arm(.seconds(10))
        scene.say("request")
        scene.send(GuardFrame.whole.head(0))
        #expect(scene.request() == "request")
        let part = String(repeating: "x", count: 1000)
        var sent = 0
        let end = ContinuousClock.now + .seconds(10)
        // Until it does not fit anywhere any more, or all that is ever kept was sent.
        while sent < 1_000_000, ContinuousClock.now < end {
            let count = Glibc.send(
                scene.server,
                part,
                1000,
                Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
            )
            if count < 0 { break }
            sent += count
        }
        scene.die()
        scene.endServer()
        #expect(try await scene.ending() == 0)
        #expect(
            scene.kept(ResponseRecordingLayout.maximumRecorded, at: ResponseRecordingLayout.headRoom).utf8
                .count == sent + 8
        )
    }

    @Test(arguments: [
        [UInt8](repeating: 0, count: 5),
        [2, 0xFF, 0xFF, 0xFF, 0xFF],
        GuardFrame.sending.head(0),
        GuardFrame.arming.head(3) + [1, 2, 3],
        GuardFrame.order.head(8) + [UInt8](repeating: 1, count: 8),
    ]) func `what our agent does not write ends the exchange`(bytes: [UInt8]) async throws {
        let scene = try GuardScene()
        greet(scene)
        scene.send(bytes)
        #expect(try await scene.ending() == 0)
        #expect(scene.request() == nil)
    }

    @Test func `a second moment does not replace the first`() async throws {
        let scene = try GuardScene()
        greet(scene)
        scene.arm(.seconds(10))
        scene.arm(.seconds(15))
        #expect(try await scene.ending() == 0)
        #expect(scene.request() == nil)
    }
}
