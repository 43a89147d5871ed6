// SPDX-License-Identifier: MIT

/// The output of `tokenagent --help`.
enum StartHelp {
    static let text = """
        tokenagent keeps OAuth logins alive and hands out access tokens.

        Usage:
          tokenagent [OPTIONS]                  start in the background, print how to reach it
          tokenagent [OPTIONS] COMMAND [ARGS]   run COMMAND with an agent around it
          tokenagent -D [OPTIONS]               stay in the foreground, log to standard error
          tokenagent -k [-a PATH]               stop the agent of this socket, print how to forget it
          tokenagent --check-config             report every mistake in the configuration
          tokenagent --remove-token-files       remove the token files that a killed agent left

        Options:
          -a, --socket PATH        listen on PATH
          --config FILE            read this configuration
          --state-dir DIR          keep the sealed sessions in DIR
          --log-level LEVEL        critical, error, warning, notice, info, debug or trace
          -s, -c, --fish           print for sh, csh or fish; by default as $SHELL says
          -D, --foreground         stay in the foreground
          -k, --kill               stop the agent
          --allow-root             start for root although sudo was used
          --allow-network-store    keep sessions on NFS and the like, at your own risk
          --json                   what --check-config finds, as JSON
          --version, -h, --help

        Signals: TERM and INT stop, HUP reloads the configuration, USR1 locks.
        The client is tokenctl. See tokenagent(1), tokenagent.conf(5).

        """
}
