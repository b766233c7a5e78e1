
# Names of groups and nodes, as the run has them now.
_levelhead_live() {
    _levelhead "$@"
    local word="${COMP_WORDS[COMP_CWORD]}" what= at place=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        case "${COMP_WORDS[at]}" in
            scale | run | rm | update) what=groups ;;
            stop | start | restart | explain) what=subjects ;;
            logs) what=nodes ;;
            release) what=holds ;;
            -f | --file | --state-dir | --attach | --ca | --token-file)
                place+=("${COMP_WORDS[at]}" "${COMP_WORDS[at + 1]}") ;;
        esac
    done
    case "${COMP_WORDS[COMP_CWORD - 1]}" in -f | --*) return 0 ;; esac
    if [[ -z $what || $word == -* ]]; then return 0; fi
    local names
    names="$(levelhead names "$what" "${place[@]}" 2>/dev/null)"
    COMPREPLY+=($(compgen -W "$names" -- "$word"))
}
complete -F _levelhead_live -o bashdefault -o default levelhead
