# Sourced: runs a command that needs the network, up to four times.
retry() {
    for pause in 5 20 60; do
        "$@" && return
        echo "failed, again in $pause s: $*" >&2
        sleep "$pause"
    done
    "$@"
}
