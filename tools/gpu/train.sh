#!/usr/bin/env bash
# Trains the 128x8x2 network on a machine with a GPU, PyTorch 2.11 or newer and many cores, but without
# Rust and network. See README.md beside this file.
#
#   tools/gpu/train.sh gather GAMES.fgames     here: build and gather what that machine needs into gpu-bundle
#   tools/gpu/train.sh run MINUTES OUT [...]   there: train; leaves the checkpoint in parts in OUT
#   tools/gpu/train.sh collect DIR FILE.pt     here: join the parts, check them, put the weights back
set -euo pipefail
script=$(realpath "$0")
cd "$(dirname "$script")/../.."
source tools/gpu/bundle.sh
part_mib=15
parts_at_most=8

usage() {
    sed -n '5,7s/^# *//p' "$script" >&2
    exit 2
}

gather() {
    local expander=${EXPANDER:-}
    if [ -z "$expander" ]; then
        cargo build --release -p fianchetto-prepare
        expander=${CARGO_TARGET_DIR:-target}/release/fianchetto-prepare
    fi
    rm -rf "$bundle"
    mkdir -p "$bundle"
    cp "$expander" "$bundle/fianchetto-prepare"
    cp "$1" "$bundle/games.fgames"
    set_aside
    weigh "pack fewer games (fianchetto-prepare pack --shard 0/2)"
}

run() {
    local minutes=$1 out=$2 run
    shift 2
    run=$(mktemp -d)
    mkdir -p "$out"
    export PYTHONPATH="$PWD/tools/train" PYTHONUNBUFFERED=1
    chmod +x "$bundle/fianchetto-prepare"
    local options=(--sizes "${SIZES:-channels=128,blocks=8,recurrence=2,gated,se}" --move-kernels
        --games "$bundle/games.fgames" --expander "$bundle/fianchetto-prepare"
        --expand-options "${EXPAND:---rate 0.5 --memory 8192}" --out "$run/run"
        --minutes "$minutes" --save-minutes 2 --validate-minutes 2 --log-positions 100000)
    if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())'; then
        options+=(--compile --batch 2048 --lr 2e-3)
    fi
    local status=0
    python3 -m fianchetto_train train "${options[@]}" "$@" 2>&1 | tee "$out/train.log" || status=$?
    # Also a run that was stopped has left what it had saved.
    [ -f "$run/run/network.pt" ] || exit "$status"
    split -b "${part_mib}m" -d -a 1 "$run/run/network.pt" "$out/network.pt.part"
    (cd "$run/run" && sha256sum network.pt) >"$out/network.pt.sha256"
    cp "$run/run/log.csv" "$out"
    local parts=("$out"/network.pt.part?)
    if [ "${#parts[@]}" -gt "$parts_at_most" ]; then
        echo "error: ${#parts[@]} parts, expected at most $parts_at_most: a smaller network?" >&2
        exit 1
    fi
    ls -l "$out" >&2
    return "$status"
}

collect() {
    put_back
    local wanted found
    wanted=$(cut -d ' ' -f 1 "$1/network.pt.sha256")
    cat "$1"/network.pt.part? >"$2.tmp"
    found=$(sha256sum "$2.tmp" | cut -d ' ' -f 1)
    if [ "$wanted" != "$found" ]; then
        rm "$2.tmp"
        echo "error: the parts in $1 have SHA-256 $found, expected $wanted: fetch them again" >&2
        exit 1
    fi
    mv "$2.tmp" "$2"
    echo "$2: whole" >&2
}

case "${1-}/$#" in
gather/2) gather "$2" ;;
run/[3-9] | run/[1-9][0-9]) shift && run "$@" ;;
collect/3) collect "$2" "$3" ;;
*) usage ;;
esac
