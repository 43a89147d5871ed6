// SPDX-License-Identifier: MIT

/// The output of `tokenagent --help`.
enum StartHelp {
    static let text = """
        tokenagent stores OAuth tokens, refreshes them and serves access tokens.

        Usage:
          tokenagent [OPTIONS]                  Start in the background and print the environment
          tokenagent [OPTIONS] COMMAND [ARGS]   Run COMMAND with an agent that ends with it
          tokenagent -D [OPTIONS]               Stay in the foreground and log to standard error
          tokenagent -k [-a PATH]               Stop the agent and print how to unset the environment
          tokenagent --check-config             Report every error in the configuration
          tokenagent --remove-token-files       Remove token files left by a killed agent

        Options:
          -a, --socket PATH        Listen on PATH
          --config FILE            Read this configuration file
          --state-dir DIR          Store encrypted sessions in DIR
          --log-level LEVEL        Log critical, error, warning, notice, info, debug or trace
          -s, -c, --fish           Print for sh, csh or fish (default: $SHELL)
          -D, --foreground         Stay in the foreground
          -k, --kill               Stop the agent
          --allow-root             Start as root under sudo
          --allow-network-store    Allow a store on a network file system, at your own risk
          --json                   Print the result of --check-config as JSON
          --version, -h, --help

        Signals: TERM and INT stop, HUP reloads the configuration, USR1 locks.
        The client is tokenctl. See tokenagent(1), tokenagent.conf(5).

        """
}
