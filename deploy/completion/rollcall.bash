# deploy/completion/rollcall.bash - completion for bash(1)
#
# What there is to complete is asked of the programs themselves, so that it is
# never out of date.

# The words that begin with the one being typed, one a line.
_rollcall_offer ()
{
    mapfile -t COMPREPLY < <(compgen "$@" -- "${COMP_WORDS[COMP_CWORD]}")
}

# Values of the option before the cursor; false if it takes none that we know.
_rollcall_value ()
{
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --child)
        _rollcall_offer -W "auto plain mpi"
        ;;
    --analyse-with)
        _rollcall_offer -c -W none
        ;;
    --analyse-export)
        _rollcall_offer -W "text db text,db"
        ;;
    --release)
        _rollcall_offer -W "never shipped after= when-full"
        ;;
    --by)
        _rollcall_offer -W "day week month tag user host"
        ;;
    --when-full)
        _rollcall_offer -W "block drop-oldest-shipped refuse"
        ;;
    -o | --out | -w | --watch | --state | --agents | --root | -r | --size | \
        --run-dir | --dir | --keys)
        _rollcall_offer -d
        ;;
    *)
        return 1
        ;;
    esac
}

# Whether a word before the cursor ends the options of rollcall run.
_rollcall_has_command ()
{
    local i

    for ((i = 2; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} != -- ]] || return 0
    done
    return 1
}

# The jobs that have left something in the state directory.
_rollcall_jobs ()
{
    local state=${ROLLCALL_STATE_DIR:-${TMPDIR:-/tmp}/rollcall-$UID}

    (cd "$state" 2>/dev/null && compgen -d -- "${COMP_WORDS[COMP_CWORD]}")
}

# What a verb wants first, behind its options.
_rollcall_first ()                  # VERB
{
    local i

    for ((i = 2; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* ]] || return 1
    done
    case $1 in
    archive)
        _rollcall_offer -W "ls get result verify add export import tag untag
            pin unpin rm prune gc"
        ;;
    fsck)
        _rollcall_offer -W "agent aggregator result"
        ;;
    key)
        _rollcall_offer -W "new enrol bind list rotate revoke"
        ;;
    jobs)
        _rollcall_offer -W "merge split"
        ;;
    query)
        [[ ${COMP_WORDS[COMP_CWORD - 1]} == query ]] || return 1
        _rollcall_offer -W "$("${COMP_WORDS[0]}" query --list --csv |
            sed '1d; s/,.*//')"
        ;;
    *)
        return 1
        ;;
    esac
}

_rollcall ()
{
    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]}

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _rollcall_offer -W "$("$1" __complete 2>/dev/null) --help --version"
    elif [[ $verb == run ]] && _rollcall_has_command; then
        if [[ ${COMP_WORDS[COMP_CWORD - 1]} == -- ]]; then
            _rollcall_offer -c
        else
            _rollcall_offer -f
        fi
    elif _rollcall_value; then
        :
    elif [[ $word == -* ]]; then
        _rollcall_offer -W "$("$1" __complete "$verb" 2>/dev/null)"
    elif _rollcall_first "$verb"; then
        :
    elif [[ $verb == wait ]]; then
        mapfile -t COMPREPLY < <(_rollcall_jobs)
    else
        _rollcall_offer -f
    fi
}

_rollcall_agent ()
{
    COMPREPLY=()
    if _rollcall_value; then
        :
    elif [[ ${COMP_WORDS[COMP_CWORD]} == -* ]]; then
        _rollcall_offer -W "$("$1" --help-names 2>/dev/null)"
    else
        _rollcall_offer -d
    fi
}

_rollcall_aggregator ()
{
    _rollcall_agent "$@"
}

complete -o filenames -F _rollcall rollcall
complete -o filenames -F _rollcall_agent rollcall-agent
complete -o filenames -F _rollcall_aggregator rollcall-aggregator
