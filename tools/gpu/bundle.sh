# Sourced: what travels to a borrowed machine. Names what is gathered in $bundle, and sets weights aside that would be too much.
bundle=gpu-bundle
aside=target/weights-aside
limit_mib=60

# Weights are most of the repository and no use there.
set_aside() {
    mkdir -p "$aside"
    find weights -name '*.safetensors' -exec mv {} "$aside" \;
}

put_back() {
    if [ -d "$aside" ]; then find "$aside" -name '*.safetensors' -exec mv {} weights \;; fi
}

# Says how much is to travel; when that is too much, puts the weights back and ends, with what can be done.
weigh() {
    # Untracked files that are not ignored travel too.
    local bytes mib
    bytes=$( (git ls-files -z --cached --others --exclude-standard; find "$bundle" -type f -print0) |
        sort -zu | xargs -0 -I{} sh -c 'test -f "$1" && stat -c %s "$1" || true' _ {} | awk '{ n += $1 } END { print n }')
    mib=$(( (bytes + 1048575) / 1048576 ))
    echo "$mib MiB to send: the repository without weights, and $bundle" >&2
    if [ "$mib" -gt "$limit_mib" ]; then
        put_back
        echo "error: more than $limit_mib MiB; $1" >&2
        exit 1
    fi
}
