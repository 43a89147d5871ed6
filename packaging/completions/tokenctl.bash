#!/bin/bash

__tokenctl_cursor_index_in_current_word() {
    local remaining="${COMP_LINE}"

    local word
    for word in "${COMP_WORDS[@]::COMP_CWORD}"; do
        remaining="${remaining##*([[:space:]])"${word}"*([[:space:]])}"
    done

    local -ir index="$((COMP_POINT - ${#COMP_LINE} + ${#remaining}))"
    if [[ "${index}" -le 0 ]]; then
        printf 0
    else
        printf %s "${index}"
    fi
}

# positional arguments:
#
# - 1: the current (sub)command's count of positional arguments
#
# required variables:
#
# - repeating_flags: the repeating flags that the current (sub)command can accept
# - non_repeating_flags: the non-repeating flags that the current (sub)command can accept
# - repeating_options: the repeating options that the current (sub)command can accept
# - non_repeating_options: the non-repeating options that the current (sub)command can accept
# - positional_number: value ignored
# - unparsed_words: unparsed words from the current command line
#
# modified variables:
#
# - non_repeating_flags: remove flags for this (sub)command that are already on the command line
# - non_repeating_options: remove options for this (sub)command that are already on the command line
# - positional_number: set to the current positional number
# - unparsed_words: remove all flags, options, and option values for this (sub)command
__tokenctl_offer_flags_options() {
    local -ir positional_count="${1}"
    positional_number=0

    local was_flag_option_terminator_seen=false
    local is_parsing_option_value=false

    local -ar unparsed_word_indices=("${!unparsed_words[@]}")
    local -i word_index
    for word_index in "${unparsed_word_indices[@]}"; do
        if "${is_parsing_option_value}"; then
            # This word is an option value:
            # Reset marker for next word iff not currently the last word
            [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]] && is_parsing_option_value=false
            unset "unparsed_words[${word_index}]"
            # Do not process this word as a flag or an option
            continue
        fi

        local word="${unparsed_words["${word_index}"]}"
        if ! "${was_flag_option_terminator_seen}"; then
            case "${word}" in
            --)
                unset "unparsed_words[${word_index}]"
                # by itself -- is a flag/option terminator, but if it is the last word, it is the start of a completion
                if [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]]; then
                    was_flag_option_terminator_seen=true
                fi
                continue
                ;;
            -*)
                # ${word} is a flag or an option
                # If ${word} is an option, mark that the next word to be parsed is an option value
                local option
                for option in "${repeating_options[@]}" "${non_repeating_options[@]}"; do
                    [[ "${word}" = "${option}" ]] && is_parsing_option_value=true && break
                done

                # Remove ${word} from ${non_repeating_flags} or ${non_repeating_options} so it isn't offered again
                local not_found=true
                local -i index
                for index in "${!non_repeating_flags[@]}"; do
                    if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                        unset "non_repeating_flags[${index}]"
                        non_repeating_flags=("${non_repeating_flags[@]}")
                        not_found=false
                        break
                    fi
                done
                if "${not_found}"; then
                    for index in "${!non_repeating_flags[@]}"; do
                        if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                            unset "non_repeating_flags[${index}]"
                            non_repeating_flags=("${non_repeating_flags[@]}")
                            break
                        fi
                    done
                fi
                unset "unparsed_words[${word_index}]"
                continue
                ;;
            esac
        fi

        # ${word} is neither a flag, nor an option, nor an option value
        if [[ "${positional_number}" -lt "${positional_count}" || "${positional_count}" -lt 0 ]]; then
            # ${word} is a positional
            ((positional_number++))
            unset "unparsed_words[${word_index}]"
        else
            if [[ -z "${word}" ]]; then
                # Could be completing a flag, option, or subcommand
                positional_number=-1
            else
                # ${word} is a subcommand or invalid, so stop processing this (sub)command
                positional_number=-2
            fi
            break
        fi
    done

    unparsed_words=("${unparsed_words[@]}")

    if\
        ! "${was_flag_option_terminator_seen}"\
        && ! "${is_parsing_option_value}"\
        && [[ ("${cur}" = -* && "${positional_number}" -ge 0) || "${positional_number}" -eq -1 ]]
    then
        COMPREPLY+=($(compgen -W "${repeating_flags[*]} ${non_repeating_flags[*]} ${repeating_options[*]} ${non_repeating_options[*]}" -- "${cur}"))
    fi
}

__tokenctl_add_completions() {
    local completion
    while IFS='' read -r completion; do
        COMPREPLY+=("${completion}")
    done < <(IFS=$'\n' compgen "${@}" -- "${cur}")
}

__tokenctl_custom_complete() {
    if [[ -n "${cur}" || -z ${COMP_WORDS[${COMP_CWORD}]} || "${COMP_LINE:${COMP_POINT}:1}" != ' ' ]]; then
        local -ar words=("${COMP_WORDS[@]}")
    else
        local -ar words=("${COMP_WORDS[@]::${COMP_CWORD}}" '' "${COMP_WORDS[@]:${COMP_CWORD}}")
    fi

    "${COMP_WORDS[0]}" "${@}" "${words[@]}"
}

_tokenctl() {
    local state
    state="$(shopt -p;shopt -po)"
    trap "${state//$'\n'/;}" RETURN
    shopt -s extglob
    set +o history +o posix

    local -xr SAP_SHELL=bash
    local -x SAP_SHELL_VERSION
    SAP_SHELL_VERSION="$(IFS='.';printf %s "${BASH_VERSINFO[*]}")"
    local -r SAP_SHELL_VERSION

    local -r cur="${2}"
    local -r prev="${3}"

    local -i positional_number
    local -a unparsed_words=("${COMP_WORDS[@]:1:${COMP_CWORD}}")

    local -a repeating_flags=()
    local -a non_repeating_flags=(--version -h --help)
    local -a repeating_options=()
    local -a non_repeating_options=()
    __tokenctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    get|refresh|claims|login|logout|status|list|watch|lock|unlock|vault|config|doctor|version|shutdown|completions|help)
        # Offer subcommand argument completions
        "_tokenctl_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'get refresh claims login logout status list watch lock unlock vault config doctor version shutdown completions help' -- "${cur}"))
        ;;
    esac
}

_tokenctl_get() {
    repeating_flags=()
    non_repeating_flags=(--no-wait --id-token --json --no-autostart --version -h --help)
    repeating_options=(--scope)
    non_repeating_options=(--min-valid --timeout --format --user --audience --socket)
    __tokenctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--min-valid')
        return
        ;;
    '--timeout')
        return
        ;;
    '--format')
        __tokenctl_add_completions -W 'token'$'\n''json'$'\n''header'$'\n''env'$'\n''curl'$'\n''sasl-xoauth2'$'\n''sasl-oauthbearer'
        return
        ;;
    '--user')
        return
        ;;
    '--scope')
        return
        ;;
    '--audience')
        return
        ;;
    '--socket')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __tokenctl_add_completions -W "$(eval 'tokenctl list --no-autostart 2>/dev/null')"
        return
        ;;
    esac
}

_tokenctl_refresh() {
    repeating_flags=()
    non_repeating_flags=(--rejected-stdin --json --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __tokenctl_add_completions -W "$(eval 'tokenctl list --no-autostart 2>/dev/null')"
        return
        ;;
    esac
}

_tokenctl_claims() {
    repeating_flags=()
    non_repeating_flags=(--id-token --json --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __tokenctl_add_completions -W "$(eval 'tokenctl list --no-autostart 2>/dev/null')"
        return
        ;;
    esac
}

_tokenctl_login() {
    repeating_flags=()
    non_repeating_flags=(--no-browser --paste --password-stdin --refresh-token-stdin --json --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--flow --username --socket)
    __tokenctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--flow')
        __tokenctl_add_completions -W 'browser'$'\n''device'$'\n''password'$'\n''client_credentials'$'\n''import'
        return
        ;;
    '--username')
        return
        ;;
    '--socket')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __tokenctl_add_completions -W "$(eval 'tokenctl list --no-autostart 2>/dev/null')"
        return
        ;;
    esac
}

_tokenctl_logout() {
    repeating_flags=()
    non_repeating_flags=(--all --local --json --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __tokenctl_add_completions -W "$(eval 'tokenctl list --no-autostart 2>/dev/null')"
        return
        ;;
    esac
}

_tokenctl_status() {
    repeating_flags=()
    non_repeating_flags=(--json --watch --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __tokenctl_add_completions -W "$(eval 'tokenctl list --no-autostart 2>/dev/null')"
        return
        ;;
    esac
}

_tokenctl_list() {
    repeating_flags=()
    non_repeating_flags=(--json --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_tokenctl_watch() {
    repeating_flags=()
    non_repeating_flags=(--json --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __tokenctl_add_completions -W "$(eval 'tokenctl list --no-autostart 2>/dev/null')"
        return
        ;;
    esac
}

_tokenctl_lock() {
    repeating_flags=()
    non_repeating_flags=(--no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_tokenctl_unlock() {
    repeating_flags=()
    non_repeating_flags=(--passphrase-stdin --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_tokenctl_vault() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __tokenctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    init|passwd|slots|rekey)
        # Offer subcommand argument completions
        "_tokenctl_vault_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'init passwd slots rekey' -- "${cur}"))
        ;;
    esac
}

_tokenctl_vault_init() {
    repeating_flags=()
    non_repeating_flags=(--passphrase-stdin --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--type --path --credential --socket)
    __tokenctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--type')
        __tokenctl_add_completions -W 'passphrase'$'\n''keyfile'$'\n''command'$'\n''systemd-cred'
        return
        ;;
    '--path')
        return
        ;;
    '--credential')
        return
        ;;
    '--socket')
        return
        ;;
    esac
}

_tokenctl_vault_passwd() {
    repeating_flags=()
    non_repeating_flags=(--passphrase-stdin --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_tokenctl_vault_slots() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __tokenctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    list|add|remove)
        # Offer subcommand argument completions
        "_tokenctl_vault_slots_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'list add remove' -- "${cur}"))
        ;;
    esac
}

_tokenctl_vault_slots_list() {
    repeating_flags=()
    non_repeating_flags=(--json --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_tokenctl_vault_slots_add() {
    repeating_flags=()
    non_repeating_flags=(--passphrase-stdin --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--type --path --credential --socket)
    __tokenctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--type')
        __tokenctl_add_completions -W 'passphrase'$'\n''keyfile'$'\n''command'$'\n''systemd-cred'
        return
        ;;
    '--path')
        return
        ;;
    '--credential')
        return
        ;;
    '--socket')
        return
        ;;
    esac
}

_tokenctl_vault_slots_remove() {
    repeating_flags=()
    non_repeating_flags=(--no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_tokenctl_vault_rekey() {
    repeating_flags=()
    non_repeating_flags=(--no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_tokenctl_config() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __tokenctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    check|path|example)
        # Offer subcommand argument completions
        "_tokenctl_config_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'check path example' -- "${cur}"))
        ;;
    esac
}

_tokenctl_config_check() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--config)
    __tokenctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--config')
        return
        ;;
    esac
}

_tokenctl_config_path() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __tokenctl_offer_flags_options 0
}

_tokenctl_config_example() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __tokenctl_offer_flags_options 0
}

_tokenctl_doctor() {
    repeating_flags=()
    non_repeating_flags=(--json --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_tokenctl_version() {
    repeating_flags=()
    non_repeating_flags=(--json --no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_tokenctl_shutdown() {
    repeating_flags=()
    non_repeating_flags=(--no-autostart --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __tokenctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_tokenctl_completions() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __tokenctl_offer_flags_options 1

    # Offer positional completions
    case "${positional_number}" in
    1)
        __tokenctl_add_completions -W 'bash'$'\n''zsh'$'\n''fish'
        return
        ;;
    esac
}

_tokenctl_help() {
    repeating_flags=()
    non_repeating_flags=(--version)
    repeating_options=()
    non_repeating_options=()
    __tokenctl_offer_flags_options -1
}

complete -o filenames -F _tokenctl tokenctl
