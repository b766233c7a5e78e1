
# Names of groups and nodes, as the run has them now.
_levelhead_live() {
    local what= at
    local -a place names
    for ((at = 2; at < CURRENT; at++)); do
        case "${words[at]}" in
            scale | run | rm | update) what=groups ;;
            stop | start | restart | explain) what=subjects ;;
            logs) what=nodes ;;
            release) what=holds ;;
            -f | --file | --state-dir | --attach | --ca | --token-file)
                place+=("${words[at]}" "${words[at + 1]}") ;;
        esac
    done
    if [[ -n $what && $PREFIX != -* && ${words[CURRENT - 1]} != -* ]]; then
        names=(${(f)"$(levelhead names $what $place 2>/dev/null)"})
        compadd -a names
    fi
    _levelhead "$@"
}
compdef _levelhead_live levelhead
