// SPDX-License-Identifier: MIT

import TestSupport

/// The result of a program that ran as the foreground job of a shell at a terminal.
struct TerminalJob {
    let text: String
    /// Whether the terminal hid the input at every prompt.
    let wasHidden: Bool
    /// Whether the terminal shows input again after the program.
    let isRestored: Bool
    let stops: Int
    /// Whether input is left in the terminal for the next program.
    let leavesInput: Bool
    /// The exit status, negative for a signal.
    let status: Int32

    /// Runs `command` and types `keys` at its password prompts, `|` between those of one and the next.
    init(_ command: [String], typing keys: String, environment: [String: String]) async throws {
        let result = try await Program.run(
            ["/usr/bin/env", "python3", "-c", Self.script, keys] + command,
            environment: environment
        )
        let text = result.standardOutput
        self.text = text + result.standardError
        wasHidden = text.contains(#""hidden": true"#)
        isRestored = text.contains(#"\"echo\": true"#) && !text.contains(#"\"echo\": false"#)
        stops = text.split(separator: "STOPPED").count - 1
        leavesInput = !text.contains(#"\"left\": false"#)
        status = text.firstMatch(of: /RESULT .\\"status\\": (-?\d+)/).flatMap { Int32($0.1) } ?? -99
    }

    /// The shell in its own terminal, and the user.
    private static let script = """
        import json, os, pty, select, signal, sys, termios, time
        keys, command = sys.argv[1].encode().decode("unicode_escape").encode(), sys.argv[2:]
        echo = lambda fd: bool(termios.tcgetattr(fd)[3] & termios.ECHO)
        def leader():
            # Else Linux empties the terminal after it has sent the signal of a key: of what is written meanwhile too.
            mode = termios.tcgetattr(0)
            mode[3] |= termios.NOFLSH
            termios.tcsetattr(0, termios.TCSANOW, mode)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            job = os.fork()
            if job == 0:
                os.setpgid(0, 0)
                os.tcsetpgrp(0, os.getpid())
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                os.execvp(command[0], command)
            stops = 0
            while True:
                _, status = os.waitpid(job, os.WUNTRACED)
                if not os.WIFSTOPPED(status): break
                stops += 1
                os.tcsetpgrp(0, os.getpid())
                print("STOPPED", json.dumps({"echo": echo(0)}), flush=True)
                os.tcsetpgrp(0, job)
                os.kill(job, signal.SIGCONT)
            os.tcsetpgrp(0, os.getpid())
            left = bool(select.select([0], [], [], 0)[0])
            print("RESULT", json.dumps({"status": os.waitstatus_to_exitcode(status), "echo": echo(0), "stops": stops, "left": left}), flush=True)
            os._exit(0)
        pid, fd = pty.fork()
        if pid == 0: leader()
        out, prompts, hidden = b"", 0, True
        while True:
            try: chunk = os.read(fd, 4096)
            except OSError: break
            if not chunk: break
            out += chunk
            while out.count(b"Password") > prompts:
                prompts += 1
                hidden = hidden and not echo(fd)
                key, _, keys = keys.partition(b"|")
                os.write(fd, key)
        os.waitpid(pid, 0)
        print(json.dumps({"hidden": hidden and prompts > 0, "prompts": prompts, "text": out.decode(errors="replace")}))
        """
}
