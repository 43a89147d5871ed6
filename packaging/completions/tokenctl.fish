function __tokenctl_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __tokenctl_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __tokenctl_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __tokenctl_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __tokenctl_parse_tokens -S
    set -l unparsed_tokens (__tokenctl_tokens -pc)
    switch $unparsed_tokens[1]
    case 'tokenctl'
        __tokenctl_parse_subcommand 0 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'get'
            __tokenctl_parse_subcommand 1 'min-valid=' 'timeout=' 'no-wait' 'format=' 'user=' 'scope=+' 'audience=' 'id-token' 'json' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'refresh'
            __tokenctl_parse_subcommand 1 'rejected-stdin' 'json' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'claims'
            __tokenctl_parse_subcommand 1 'id-token' 'json' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'login'
            __tokenctl_parse_subcommand 1 'flow=' 'no-browser' 'paste' 'username=' 'password-stdin' 'refresh-token-stdin' 'json' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'logout'
            __tokenctl_parse_subcommand 1 'all' 'local' 'json' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'status'
            __tokenctl_parse_subcommand 1 'json' 'watch' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'list'
            __tokenctl_parse_subcommand 0 'json' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'watch'
            __tokenctl_parse_subcommand 1 'json' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'lock'
            __tokenctl_parse_subcommand 0 'socket=' 'no-autostart' 'version' 'h/help'
        case 'unlock'
            __tokenctl_parse_subcommand 0 'passphrase-stdin' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'vault'
            __tokenctl_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'init'
                __tokenctl_parse_subcommand -r 1 'type=' 'path=' 'credential=' 'passphrase-stdin' 'socket=' 'no-autostart' 'version' 'h/help'
            case 'passwd'
                __tokenctl_parse_subcommand 0 'passphrase-stdin' 'socket=' 'no-autostart' 'version' 'h/help'
            case 'slots'
                __tokenctl_parse_subcommand 0 'version' 'h/help'
                switch $unparsed_tokens[1]
                case 'list'
                    __tokenctl_parse_subcommand 0 'json' 'socket=' 'no-autostart' 'version' 'h/help'
                case 'add'
                    __tokenctl_parse_subcommand -r 1 'type=' 'path=' 'credential=' 'passphrase-stdin' 'socket=' 'no-autostart' 'version' 'h/help'
                case 'remove'
                    __tokenctl_parse_subcommand 1 'socket=' 'no-autostart' 'version' 'h/help'
                end
            case 'rekey'
                __tokenctl_parse_subcommand 0 'socket=' 'no-autostart' 'version' 'h/help'
            end
        case 'config'
            __tokenctl_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'check'
                __tokenctl_parse_subcommand 0 'config=' 'version' 'h/help'
            case 'path'
                __tokenctl_parse_subcommand 0 'json' 'version' 'h/help'
            case 'example'
                __tokenctl_parse_subcommand 0 'version' 'h/help'
            end
        case 'doctor'
            __tokenctl_parse_subcommand 0 'json' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'version'
            __tokenctl_parse_subcommand 0 'json' 'socket=' 'no-autostart' 'version' 'h/help'
        case 'shutdown'
            __tokenctl_parse_subcommand 0 'socket=' 'no-autostart' 'version' 'h/help'
        case 'completions'
            __tokenctl_parse_subcommand 1 'version' 'h/help'
        case 'help'
            __tokenctl_parse_subcommand -r 1 'version'
        end
    end
end

function __tokenctl_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __tokenctl_parse_subcommand -S -a positional_count
    argparse -s r -- $argv
    set -l option_specs $argv[2..]
    set -l is_repeating_positional $_flag_r
    set -el _flag_r
    set -a commands $unparsed_tokens[1]
    set positional_index 0
    while true
        set -e unparsed_tokens[1]
        argparse -sn "$commands" $option_specs -- $unparsed_tokens 2> /dev/null
        set unparsed_tokens $argv
        set positional_index (math $positional_index + 1)
        for non_repeating_flag_or_option in $non_repeating_flags_or_options
            if set -ql "_flag_$(string replace -a - _ -- $non_repeating_flag_or_option)"
                set non_repeating_flags_or_options_absent 1
                break
            end
        end
        test (count $unparsed_tokens) -eq 0 -o \( -z "$is_repeating_positional" -a "$positional_index" -gt "$positional_count" \) && break
    end
end

function __tokenctl_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __tokenctl_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__tokenctl_tokens -p)
    if test -z "$(__tokenctl_tokens -t)"
        set -l index (count (__tokenctl_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'tokenctl' -f
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'get' -d 'Print an access token.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'refresh' -d 'Refresh a session now.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'claims' -d 'Show the claims of a token that is a JWT.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'login' -d 'Log in to a session.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'logout' -d 'Revoke a session\'s tokens and forget them.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'status' -d 'Show the state of a session, or of all.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'list' -d 'Print the names of the sessions, one per line.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'watch' -d 'Print events as JSON, one per line, until Ctrl-C.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'lock' -d 'Lock the agent: its keys are wiped and nothing is served.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'unlock' -d 'Unlock the agent.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'vault' -d 'Choose how the store is unlocked.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'config' -d 'Check the configuration, or show how to write one.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'doctor' -d 'Look for problems and say what to do about them.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'version' -d 'Print the versions of tokenctl and of the running agent.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'shutdown' -d 'End the agent after the refreshes in flight.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'completions' -d 'Print the completion script of a shell.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl get" -eq 1' -fka '(tokenctl list --no-autostart 2>/dev/null)'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" min-valid' -l 'min-valid' -d 'Least life left.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" timeout' -l 'timeout' -d 'Longest wait for a refresh.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" no-wait' -l 'no-wait' -d 'Do not wait for a refresh.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" format' -l 'format' -d 'How to print it.' -rfka 'token json header env curl sasl-xoauth2 sasl-oauthbearer'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" user' -l 'user' -d 'The mail user, for the sasl formats.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get"' -l 'scope' -d 'A scope the token shall have instead of the session\'s; repeatable.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" audience' -l 'audience' -d 'The audience the token shall be for.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" id-token' -l 'id-token' -d 'Print the ID token instead.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" json' -l 'json' -d 'The same as --format json.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl get" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl refresh" -eq 1' -fka '(tokenctl list --no-autostart 2>/dev/null)'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl refresh" rejected-stdin' -l 'rejected-stdin' -d 'Read the refused token from standard input.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl refresh" json' -l 'json' -d 'Print the agent\'s answer as JSON.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl refresh" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl refresh" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl refresh" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl refresh" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl claims" -eq 1' -fka '(tokenctl list --no-autostart 2>/dev/null)'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl claims" id-token' -l 'id-token' -d 'Show the ID token\'s claims instead.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl claims" json' -l 'json' -d 'Print JSON with the members verified, header and claims.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl claims" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl claims" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl claims" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl claims" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl login" -eq 1' -fka '(tokenctl list --no-autostart 2>/dev/null)'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" flow' -l 'flow' -d 'How to log in, instead of what the configuration says.' -rfka 'browser device password client_credentials import'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" no-browser' -l 'no-browser' -d 'Print the address instead of opening a browser.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" paste' -l 'paste' -d 'Ask for the address to which the browser was sent in the end.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" username' -l 'username' -d 'The user, for the flow password.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" password-stdin' -l 'password-stdin' -d 'Read the password from standard input.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" refresh-token-stdin' -l 'refresh-token-stdin' -d 'Import a refresh token from standard input.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" json' -l 'json' -d 'Print progress as JSON, one object per line.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl login" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl logout" -eq 1' -fka '(tokenctl list --no-autostart 2>/dev/null)'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl logout" all' -l 'all' -d 'Log out of every session.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl logout" local' -l 'local' -d 'Forget the tokens without asking the server to revoke them.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl logout" json' -l 'json' -d 'Print the agent\'s answers as JSON, one per line.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl logout" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl logout" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl logout" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl logout" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl status" -eq 1' -fka '(tokenctl list --no-autostart 2>/dev/null)'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl status" json' -l 'json' -d 'Print the agent\'s answer as JSON.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl status" watch' -l 'watch' -d 'Keep the display up to date.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl status" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl status" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl status" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl status" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl list" json' -l 'json' -d 'Print the state of every session as JSON.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl list" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl list" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl list" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl watch" -eq 1' -fka '(tokenctl list --no-autostart 2>/dev/null)'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl watch" json' -l 'json' -d 'Events are always JSON; accepted like everywhere.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl watch" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl watch" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl watch" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl watch" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl lock" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl lock" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl lock" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl lock" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl unlock" passphrase-stdin' -l 'passphrase-stdin' -d 'Read the passphrase from standard input.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl unlock" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl unlock" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl unlock" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl unlock" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl vault" -eq 1' -fa 'init' -d 'Replace the automatic key file of a store without sessions.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl vault" -eq 1' -fa 'passwd' -d 'Change the passphrase of the store.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl vault" -eq 1' -fa 'slots' -d 'List, add or remove the ways to unlock the store.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl vault" -eq 1' -fa 'rekey' -d 'Seal the store under a new key.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault init" type' -l 'type' -d 'How the store is unlocked.' -rfka 'passphrase keyfile command systemd-cred'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault init" path' -l 'path' -d 'The key file, made if it is missing.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault init" credential' -l 'credential' -d 'The name of the systemd credential.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault init" passphrase-stdin' -l 'passphrase-stdin' -d 'Read the passphrase from standard input.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault init" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault init" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault init" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault init" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault passwd" passphrase-stdin' -l 'passphrase-stdin' -d 'Read the old and the new passphrase from standard input, a line each.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault passwd" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault passwd" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault passwd" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault passwd" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl vault slots" -eq 1' -fa 'list' -d 'List the ways to unlock the store.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl vault slots" -eq 1' -fa 'add' -d 'Add a way to unlock the store.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl vault slots" -eq 1' -fa 'remove' -d 'Remove a way to unlock the store; the last one stays.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots list" json' -l 'json' -d 'Print the agent\'s answer as JSON.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots list" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots list" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots list" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots add" type' -l 'type' -d 'How the store is unlocked.' -rfka 'passphrase keyfile command systemd-cred'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots add" path' -l 'path' -d 'The key file, made if it is missing.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots add" credential' -l 'credential' -d 'The name of the systemd credential.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots add" passphrase-stdin' -l 'passphrase-stdin' -d 'Read the passphrase from standard input.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots add" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots add" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots add" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots add" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots remove" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots remove" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots remove" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault slots remove" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault rekey" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault rekey" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault rekey" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl vault rekey" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl config" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl config" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl config" -eq 1' -fa 'check' -d 'Check the configuration file.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl config" -eq 1' -fa 'path' -d 'Print the path of the configuration file.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl config" -eq 1' -fa 'example' -d 'Print an annotated configuration to start from.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl config check" config' -l 'config' -d 'Check this file instead.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl config check" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl config check" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl config path" json' -l 'json' -d 'Print all paths as JSON.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl config path" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl config path" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl config example" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl config example" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl doctor" json' -l 'json' -d 'Print JSON.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl doctor" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl doctor" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl doctor" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl doctor" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl version" json' -l 'json' -d 'Print JSON.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl version" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl version" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl version" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl version" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl shutdown" socket' -l 'socket' -d 'Talk to the agent at this socket.' -rfka ''
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl shutdown" no-autostart' -l 'no-autostart' -d 'Fail instead of starting an agent when none answers.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl shutdown" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl shutdown" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_positional "tokenctl completions" -eq 1' -fka 'bash zsh fish'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl completions" version' -l 'version' -d 'Show the version.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl completions" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'tokenctl' -n '__tokenctl_should_offer_completions_for_flags_or_options "tokenctl help" version' -l 'version' -d 'Show the version.'
