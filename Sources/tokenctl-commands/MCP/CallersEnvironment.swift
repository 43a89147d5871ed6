// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// The environment that a client of the Model Context Protocol starts its servers with.
///
/// Such clients pass on a handful of variables, to keep secrets from servers: `HOME`, `PATH` and the like. The place of
/// the agent's socket is not among them.
enum CallersEnvironment {
    /// Puts back `XDG_RUNTIME_DIR`, where systemd makes it and nobody else can enter (pam_systemd(8)).
    static func complete() {
        guard AgentPaths.variable("TOKENAGENT_SOCK") == nil, AgentPaths.variable("XDG_RUNTIME_DIR") == nil
        else { return }
        let directory = "/run/user/\(getuid())"
        var status = stat()
        guard unsafe lstat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
            status.st_uid == getuid(), status.st_mode & 0o077 == 0
        else { return }
        unsafe setenv("XDG_RUNTIME_DIR", directory, 1)
    }
}
