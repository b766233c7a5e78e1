#!/bin/sh
# A cloud in a directory, for the tests: an instance is a directory with files, and what stands in `fault` is how
# the cloud misbehaves. Every call is noted in `calls` before it is answered.
cloud=$1
read -r ask
call=$(printf '%s' "$ask" | sed -n 's/^{"version":1,"call":"\([^"]*\)".*/\1/p')
head=$(printf '%s' "$ask" | sed 's/,"\(spec\|lease\|key\)":.*//')
of() { printf '%s' "$head" | sed -n "s/.*\"$1\":\"\\{0,1\\}\\([^\",}]*\\).*/\\1/p"; }
slot=$(of slot) attempt=$(of attempt) fence=$(of fence)
fault=$(cat "$cloud/fault" 2>/dev/null)
echo "$call $slot $attempt" >> "$cloud/calls"
at=$cloud/instances/$attempt
ok() { printf '{"ok":%s}\n' "$1"; exit 0; }

# What one instance is, from its files.
lease() { printf '"slot":"%s","attempt":"%s","fence":%s,"lease":{"id":"i-%s"}' "$(cat "$1/slot")" "${1##*/}" "$(cat "$1/fence")" "${1##*/}"; }
work() { if [ -e "$1/running" ]; then printf '{"state":"running","handle":{"of":"%s"}}' "${1##*/}"; else printf '{"state":"absent"}'; fi; }
make() {
    mkdir -p "$at.new" && echo "$slot" > "$at.new/slot" && echo "$fence" > "$at.new/fence"
    if [ -e "$at" ]; then rm -rf "$at.new"; else mv "$at.new" "$at"; fi
}
list() {
    skip=$1 n=0 rest=
    printf '{"ok":{"complete":true,"owned":['
    for one in "$cloud"/instances/*; do
        case $one in *.new | *'*') continue ;; esac
        n=$((n + 1))
        [ $((n % skip)) = 0 ] || continue
        how=",\"workload\":$(work "$one")"
        [ "$fault" != silent ] || how=
        printf '%s{%s%s}' "$rest" "$(lease "$one")" "$how"
        rest=,
    done
    printf ']}}\n'
}

case "$fault:$call" in
"bare-list:list-owned") echo '[]' && exit 0 ;;
"nothing:list-owned") ok '{"complete":true,"owned":[]}' ;;
"html:list-owned") echo '<html><body>502 Bad Gateway</body></html>' && exit 0 ;;
"half:list-owned") printf '{"ok":{"complete":true,"owned":[' && exit 0 ;;
"exit:list-owned") list 1 && exit 1 ;;
"hang:list-owned") exec sleep 600 ;;
"third:list-owned" | "blind-third:list-owned") list 3 && exit 0 ;;
*:list-owned) list 1 && exit 0 ;;
"nothing:inspect" | "blind-third:inspect") echo 'cannot look' >&2 && exit 1 ;;
"made-nothing:create-lease") ok "{\"lease\":{\"id\":\"i-$attempt\"}}" ;;
"made-anyway:create-lease") make && echo 'connection reset' >&2 && exit 1 ;;
"kept:destroy-lease") ok '{}' ;;
"gone-anyway:destroy-lease") rm -rf "$at" && echo 'connection reset' >&2 && exit 1 ;;
"started-nothing:start-bootstrap") ok "{\"handle\":{\"of\":\"$attempt\"}}" ;;
*:create-lease) make && ok "{\"lease\":{\"id\":\"i-$attempt\"}}" ;;
*:lookup-endpoint) ok '{"endpoint":{"host":"127.0.0.1","ports":{"http":1}}}' ;;
*:start-bootstrap) [ -d "$at" ] || exit 1; : > "$at/running" && ok "{\"handle\":{\"of\":\"$attempt\"}}" ;;
*:cancel-bootstrap) rm -f "$at/running" && ok '{}' ;;
*:complete-bootstrap) ok '{}' ;;
*:destroy-lease) rm -rf "$at" && ok '{}' ;;
*:inspect)
    [ -d "$at" ] || ok '{"present":false}'
    ok "{\"present\":true,$(lease "$at"),\"endpoint\":{\"host\":\"127.0.0.1\",\"ports\":{\"http\":1}},\"workload\":$(work "$at")}"
    ;;
esac
