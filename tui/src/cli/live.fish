
# Names of groups and nodes, as the run has them now.
complete -c levelhead -n "__fish_seen_subcommand_from scale run rm update" -f -a "(levelhead names groups 2>/dev/null)"
complete -c levelhead -n "__fish_seen_subcommand_from stop start restart explain" -f -a "(levelhead names subjects 2>/dev/null)"
complete -c levelhead -n "__fish_seen_subcommand_from logs" -f -a "(levelhead names nodes 2>/dev/null)"
complete -c levelhead -n "__fish_seen_subcommand_from release" -f -a "(levelhead names holds 2>/dev/null)"
