// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Remedies for a store that does not open, or a slot that cannot be changed.
    @Suite(.full) struct StoreRemedyTests {
        private static let keyFile = "state/tokenagent/keyfile"

        /// Logs in, changes the store of the stopped agent, and starts it again.
        private static func changing(_ script: String) -> @Sendable (Scene) async throws -> Void {
            { scene in
                try await scene.logIn()
                try await scene.agent.end()
                #expect(try await scene.paste(script).status == 0)
                try await scene.agent.start()
            }
        }

        private static let ofKeyFiles: [RemedyCase] = [
            RemedyCase(
                name: "the key file is missing",
                remedy: "the key file back in its place, then run tokenctl unlock",
                arguments: ["doctor"],
                prepare: changing("mv \(keyFile) key"),
                followed: .shell("mv key \(keyFile) && tokenctl unlock")
            ),
            RemedyCase(
                name: "the key file is another one",
                remedy: "the original key file back in its place, then run tokenctl unlock",
                arguments: ["doctor"],
                prepare: changing("mv \(keyFile) key && umask 077 && head -c 32 /dev/urandom >\(keyFile)"),
                followed: .shell("mv -f key \(keyFile) && tokenctl unlock")
            ),
            RemedyCase(
                name: "the key file is open to others",
                remedy: "with a key file of your own with mode 0600 and at least 32 random bytes",
                arguments: ["unlock"],
                prepare: changing("chmod 644 \(keyFile)"),
                followed: .shell("chmod 600 \(keyFile)")
            ),
            RemedyCase(
                name: "the key file is gone, and a passphrase opens the store",
                remedy: "then run tokenctl unlock",
                arguments: ["doctor"],
                prepare: { scene in
                    try await scene.addPassphrase()
                    try await changing("mv \(keyFile) key")(scene)
                },
                followed: .command(more: "--passphrase-stdin", input: "correct horse\n")
            ),
        ]

        private static let ofPassphrases: [RemedyCase] = [
            RemedyCase(
                name: "a wrong passphrase",
                remedy: "tokenctl unlock",
                arguments: ["doctor"],
                prepare: { scene in
                    try await scene.addPassphrase()
                    for line in [
                        "tokenctl lock", "echo wrong | tokenctl unlock --passphrase-stdin; test $? = 8",
                    ] {
                        #expect(try await scene.paste(line).status == 0, "\(line)")
                    }
                },
                followed: .shell("echo correct horse | tokenctl unlock --passphrase-stdin")
            ),
            RemedyCase(
                name: "a passphrase that is forgotten",
                remedy: "unlock in tokenctl(1)",
                arguments: ["unlock", "--passphrase-stdin"],
                input: "wrong\n",
                again: ["get", "work"],
                prepare: { scene in
                    try await scene.logIn()
                    try await scene.addPassphrase()
                    let vault = "tokenctl vault slots"
                    for line in ["\(vault) remove 0 --passphrase-stdin", "tokenctl lock"] {
                        #expect(try await scene.paste(line, input: "correct horse\n").status == 0, "\(line)")
                    }
                },
                followed: .shell(
                    """
                    tokenagent -k && mv state/tokenagent away && tokenagent && \
                    echo alice-password | tokenctl login work --username alice --password-stdin
                    """
                )
            ),
            RemedyCase(
                name: "a new key for a store with a passphrase that is not given",
                remedy: "with the secret of slot 1, or after removing the slot",
                arguments: ["vault", "rekey", "--key-file", "HOME/\(keyFile)"],
                prepare: { try await $0.addPassphrase() },
                followed: .shell("tokenctl vault slots remove 1 --key-file \(keyFile)")
            ),
        ]

        private static let ofSlots: [RemedyCase] = [
            RemedyCase(
                name: "a slot that there is not",
                remedy: "tokenctl vault slots",
                arguments: ["vault", "slots", "remove", "9"],
                then: 2,
                isRepeated: true,
                followed: .command()
            ),
            RemedyCase(
                name: "no slot is free",
                remedy: "after removing a slot",
                arguments: ["vault", "slots", "add", "--type", "passphrase", "--passphrase-stdin"],
                input: "passphrase 3\ncorrect horse\n",
                prepare: { scene in
                    for number in 1..<16 {
                        let slot = #"{"type":"passphrase","passphrase":"passphrase \#(number)"}"#
                        let added = try await scene.agent.changeVault("POST", "slots", slot)
                        try #require(added.status == 200, "\(number): \(added.text)")
                    }
                },
                followed: .shell("echo passphrase 2 | tokenctl vault slots remove 1 --passphrase-stdin")
            ),
            RemedyCase(
                name: "the last slot",
                remedy: "after adding another slot",
                arguments: ["vault", "slots", "remove", "0"],
                input: "correct horse\n",
                again: ["vault", "slots", "remove", "0", "--passphrase-stdin"],
                followed: .shell(
                    "echo correct horse | tokenctl vault slots add --type passphrase --passphrase-stdin"
                )
            ),
            RemedyCase(
                name: "a new vault for a store with sessions",
                remedy: "tokenctl vault slots add",
                arguments: ["vault", "init", "--type", "keyfile"],
                input: "correct horse\n",
                again: ["vault", "slots", "remove", "1", "--passphrase-stdin"],
                prepare: { try await $0.logIn() },
                followed: .shell(
                    "echo correct horse | tokenctl vault slots add --type passphrase --passphrase-stdin"
                )
            ),
            RemedyCase(
                name: "a key file that the agent does not reach",
                remedy:
                    "--path to a file in HOME/state/tokenagent, or keyfile in [vault] to an existing file, then run tokenctl shutdown && tokenagent",
                arguments: ["vault", "slots", "add", "--type", "keyfile", "--path", "HOME/key"],
                followed: .shell(
                    """
                    head -c 32 /dev/urandom >key && chmod 600 key && \
                    printf '[vault]\\nkeyfile = "%s"\\n' "$PWD/key" | cat - config/tokenagent/config.toml >new && \
                    mv new config/tokenagent/config.toml && tokenctl shutdown && tokenagent
                    """
                )
            ),
            RemedyCase(
                name: "a key file that the agent does not reach, and its own directory",
                remedy: "--path to a file in HOME/state/tokenagent",
                arguments: ["vault", "slots", "add", "--type", "keyfile", "--path", "HOME/key"],
                again: ["vault", "slots", "add", "--type", "keyfile", "--path", "HOME/state/tokenagent/key"],
                followed: .shell("test -d state/tokenagent")
            ),
            RemedyCase(
                name: "the name of a slot is too long",
                remedy: "with a shorter one, such as a script of your own",
                arguments: [
                    "vault", "slots", "add", "--type", "command", "--", "HOME/unlock",
                    String(repeating: "x", count: 4_000),
                ],
                again: ["vault", "slots", "add", "--type", "command", "--", "HOME/short"],
                configuration: { scene in
                    let long = String(repeating: "x", count: 4_000)
                    return scene.filled("[vault]\nunlock_command = [\"HOME/unlock\", \"\(long)\"]\n")
                        + Scene.session("work", scene.issuer)
                },
                prepare: { scene in
                    let script = "#!/bin/sh\necho 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH\n"
                    for name in ["unlock", "short"] {
                        try scene.agent.home.write(script, to: name, mode: 0o700)
                    }
                },
                followed: .shell(
                    "sed -i '2s|.*|unlock_command = [\"HOME/short\"]|' config/tokenagent/config.toml && tokenctl reload"
                )
            ),
        ]

        private static let ofPrograms: [RemedyCase] = [
            RemedyCase(
                name: "the command that unlocks prints nothing",
                remedy: "unlock_command in [vault] to a command that prints a key",
                arguments: ["vault", "slots", "add", "--type", "command", "--", "HOME/unlock"],
                configuration: { scene in
                    scene.filled("[vault]\nunlock_command = [\"HOME/unlock\"]\n")
                        + Scene.session("work", scene.issuer)
                },
                prepare: { try $0.agent.home.write("#!/bin/sh\nexit 3\n", to: "unlock", mode: 0o700) },
                followed: .shell("printf '#!/bin/sh\\necho %s\\n' $(seq -s x 30) >unlock")
            ),
            RemedyCase(
                name: "the command that unlocks prints another key",
                remedy: "tokenctl unlock",
                arguments: ["doctor"],
                configuration: { scene in
                    scene.filled("[vault]\nunlock_command = [\"HOME/unlock\"]\n")
                        + Scene.session("work", scene.issuer)
                },
                prepare: { scene in
                    let script = "#!/bin/sh\necho 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH\n"
                    try scene.agent.home.write(script, to: "unlock", mode: 0o700)
                    let made = try await scene.paste(
                        "tokenctl vault init --type command -- \"$PWD/unlock\" && cp -p unlock right"
                    )
                    #expect(made.status == 0, "\(made)")
                    try scene.agent.home.write(
                        script.replacing("0123", with: "3210"),
                        to: "unlock",
                        mode: 0o700
                    )
                    #expect(try await scene.agent.tokenctl("lock").status == 0)
                    #expect(try await scene.agent.tokenctl("unlock").status != 0)
                },
                followed: .shell("cp right unlock && tokenctl unlock")
            ),
        ]

        @Test(arguments: ofKeyFiles + ofPassphrases + ofSlots + ofPrograms)
        func `what the store says about a refusal helps`(_ row: RemedyCase) async throws {
            try await row.verify()
        }

        /// A store with which no agent starts.
        struct Spoiled: CustomTestStringConvertible, Sendable {
            /// Shell in the state directory.
            let spoil: String
            let remedy: String
            let mend: String
            /// Of a `get` afterwards.
            let status: Int32
            var testDescription: String { "\(spoil): \(remedy)" }
        }

        private static let spoiled = [
            Spoiled(
                spoil: "cp vault bak && echo x >>vault",
                remedy: "after restoring the vault file from a backup, or moving",
                mend: "cp bak vault && tokenagent",
                status: 0
            ),
            Spoiled(
                spoil: "echo x >>vault",
                remedy: "or moving the state directory away",
                mend: "mv ../tokenagent ../away && tokenagent",
                status: 4
            ),
            Spoiled(
                spoil: "chmod 777 .",
                remedy: "to 0700, or",
                mend: "chmod go-rwx . && tokenagent",
                status: 0
            ),
            Spoiled(
                spoil: "chmod 777 .",
                remedy: "or --state-dir to a directory of your own",
                mend: "tokenagent --state-dir \"$HOME/other\"",
                status: 4
            ),
        ]

        @Test(arguments: spoiled)
        func `a store with which no agent starts is mended as it is said`(_ row: Spoiled) async throws {
            let scene = try await Scene.loggedIn()
            try await scene.agent.end()
            #expect(try await scene.paste("cd state/tokenagent && \(row.spoil)").status == 0)
            let refused = try await scene.paste("tokenagent")
            #expect(refused.status != 0 && PrintedRemedy(refused, holding: row.remedy) != nil, "\(refused)")
            let mended = try await scene.paste("cd state/tokenagent && \(row.mend)")
            #expect(mended.status == 0, "\(mended)")
            #expect(try await scene.agent.tokenctl("get", "work").status == row.status)
            #expect(try await scene.paste("tokenagent -k").status == 0)
        }

        @Test func `a vault that was tampered with is restored from a backup`() async throws {
            let scene = try await Scene.loggedIn()
            try await scene.addPassphrase()
            try await scene.agent.end()
            let path = scene.agent.statePath + "/vault"
            // The key file's slot comes first: 41 bytes of head, 4 and 96 of the slot; then 4 of the other, and its method.
            let cost = 41 + 4 + 96 + 4 + 1
            let zeros = "dd if=/dev/zero of='\(path)' bs=1 count=4 seek=\(cost) conv=notrunc"
            #expect(try await scene.paste("cp -p '\(path)' bak && \(zeros)").status == 0)
            let refused = try await scene.paste("tokenagent")
            let remedy = PrintedRemedy(refused, holding: "after restoring the vault file from a backup")
            #expect(refused.status != 0 && remedy != nil, "\(refused)")
            #expect(try await scene.paste("cp bak '\(path)' && tokenagent").status == 0)
            #expect(try await scene.agent.tokenctl("get", "work").status == 0)
            #expect(try await scene.paste("tokenagent -k").status == 0)
        }

        @Test func `a short passphrase gets more characters`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            func add(_ passphrase: String) async throws -> ConnectedAgentSocket.Reply {
                let slot = #"{"type":"passphrase","passphrase":"\#(passphrase)"}"#
                return try await scene.agent.changeVault("POST", "slots", slot)
            }
            for short in ["", "x", "seven.."] {
                let refused = try await add(short)
                #expect(
                    refused.status == 400 && refused.text.contains("with at least 8 characters"),
                    "\(refused.text)"
                )
            }
            #expect(try await add("eight...").status == 200)
        }

        @Test(.enabled(if: SmallDisk.possible.contains(.tmpfs), "file systems can only be mounted by root"))
        func `a full disk is freed, and what waited for it goes on`() async throws {
            try await SmallDisk.mounted(.tmpfs) { disk in
                let scene = try await Scene.loggedIn(
                    more: "[agent]\nget_timeout = \"2s\"",
                    in: disk.directory.path
                )
                try await disk.fill()
                #expect(try await scene.agent.tokenctl("refresh", "work").status == 5)
                let doctor = try await scene.agent.tokenctl("doctor")
                let remedy = try #require(
                    PrintedRemedy(doctor, holding: "after fixing the disk or its permissions"),
                    "\(doctor)"
                )
                let free = "KiB free: refreshes will stop (retry: after freeing disk space)"
                #expect(doctor.standardOutput.contains(free), "\(doctor)")
                try await disk.makeRoom()
                try await scene.follow(remedy, .command())
                let after = try await scene.agent.tokenctl("doctor")
                #expect(!after.standardOutput.contains(remedy.lines), "\(after)")
                #expect(!after.standardOutput.contains(free), "\(after)")
            }
        }

        @Test(.enabled(if: SmallDisk.possible.contains(.tmpfs), "file systems can only be mounted by root"))
        func `a disk that is full at the first start is freed, and the agent starts`() async throws {
            try await SmallDisk.mounted(.tmpfs) { disk in
                let scene = try await Scene(in: disk.directory.path)
                try await disk.fill()
                let refused = try await scene.paste("tokenagent --foreground")
                let words = "after freeing disk space or correcting permissions"
                let remedy = try #require(PrintedRemedy(refused, holding: words), "\(refused)")
                try await disk.makeRoom()
                try await scene.agent.start()
                try await scene.logIn()
                let doctor = try await scene.agent.tokenctl("doctor")
                #expect(!doctor.standardOutput.contains(remedy.text), "\(doctor)")
            }
        }

        private static let canPretend = Program.succeeds(
            "unshare -mpf --mount-proc sh -c 'mount --bind /dev/null /proc/1/mountinfo'"
        )

        @Test(
            .enabled(if: canPretend, "only root can show the agent another table of file systems"),
            arguments: ["", "--allow-network-store", "--state-dir \"$HOME/local\""]
        )
        func `a store on a network file system is allowed, or put elsewhere, as it is said`(
            option: String
        ) async throws {
            let scene = try await Scene()
            // In the agent's eyes all file systems are NFS, but for the one that is mounted later.
            let result = try await scene.agent.shell(
                """
                mkdir "$HOME/local"
                unshare -mpf --kill-child --mount-proc sh -ec '
                    sed "s/ - [a-z0-9.]* / - nfs4 /" /proc/self/mountinfo >"$HOME/mounts"
                    mount --bind "$HOME/mounts" /proc/1/mountinfo
                    mount -t tmpfs -o mode=0700 none "$HOME/local"
                    exec tokenagent --foreground "$@"' sh \(option) >"$HOME/out" 2>&1 &
                for try in $(seq 200); do
                    if grep -q ready "$HOME/out" || ! kill -0 $! 2>/dev/null; then break; fi
                    sleep 0.1
                done
                # unshare does not end by other signals while it waits for the agent.
                kill -KILL $! 2>/dev/null
                wait $!
                cat "$HOME/out"
                """
            )
            let words = "--state-dir to a local directory, or --allow-network-store"
            #expect((PrintedRemedy(result, holding: words) != nil) == option.isEmpty, "\(result)")
            #expect(result.standardOutput.contains("ready sessions=1") != option.isEmpty, "\(result)")
        }

        enum CounterCase: String, CaseIterable {
            case olderCopy = "if no later copy of the store exists"
            case otherCounter = "to the command for this store's counter, or vault.rollback_counter_accept = "
            case notConfigured = "vault.rollback_counter, or vault.rollback_counter_accept = "
            case unknownAge = "if this is the latest store"
        }

        @Test(arguments: CounterCase.allCases)
        func `a store whose counter says something else opens as it is said`(_ row: CounterCase) async throws
        {
            let scene = try await Scene()
            if row == .unknownAge {
                try await scene.agent.start()
                try await scene.logIn()
                #expect(try await scene.agent.end() == 0)
            }
            try scene.makeCounter(at: row == .unknownAge ? 7 : 0)
            try scene.configureCounter()
            if row != .unknownAge {
                try await scene.agent.start()
                try await scene.logIn()
                _ = try await scene.settledCounter()
                #expect(try await scene.agent.end() == 0)
            }
            let counter = try #require(scene.counter)
            switch row {
            case .olderCopy: try scene.makeCounter(at: counter + 10)
            case .otherCounter: try scene.makeCounter(at: 0)
            case .notConfigured: try scene.configureCounter(isOn: false)
            case .unknownAge: break
            }
            try await scene.agent.start()
            let refused = try await scene.agent.tokenctl("unlock")
            let remedy = try #require(PrintedRemedy(refused, holding: row.rawValue), "\(refused)")
            let words = remedy.text.split(separator: "rollback_counter_accept = ").last ?? ""
            let number = try #require(Int(words.prefix { $0.isNumber }), "\(remedy)")
            #expect(try await scene.agent.end() == 0)
            try scene.configureCounter(isOn: row != .notConfigured, accepting: number)
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "work").status == 0)
        }

        @Test func `the right counter is named again`() async throws {
            let scene = try await Scene()
            try scene.makeCounter(at: 0)
            try scene.configureCounter()
            try await scene.agent.start()
            try await scene.logIn()
            _ = try await scene.settledCounter()
            #expect(try await scene.agent.end() == 0)
            let other = try scene.agent.home.write("#!/bin/sh\necho 0\n", to: "other", mode: 0o700)
            try scene.configureCounter(command: [other])
            try await scene.agent.start()
            let refused = try await scene.agent.tokenctl("unlock")
            let words = "to the command for this store's counter"
            #expect(PrintedRemedy(refused, holding: words) != nil, "\(refused)")
            #expect(try await scene.agent.end() == 0)
            try scene.configureCounter()
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "work").status == 0)
        }
    }
}

extension Scene {
    /// Has a passphrase open the store as well, in slot 1.
    fileprivate func addPassphrase() async throws {
        let slot = #"{"type":"passphrase","passphrase":"correct horse"}"#
        let added = try await agent.changeVault("POST", "slots", slot)
        #expect(added.status == 200, "\(added.text)")
    }
}
