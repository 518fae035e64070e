#!/usr/bin/env bash
# Tests and measures the CUDA backend on a machine with a GPU, PyTorch and nothing else: no Rust, no network. See
# README.md beside this file.
#
#   tools/gpu/cuda.sh gather       here: build and gather what that machine needs into gpu-bundle
#   tools/gpu/cuda.sh run OUT      there: tests, timings, sanitizer, profiler, in less than five minutes; logs in OUT
#   tools/gpu/cuda.sh collect      here: put the weights back
set -euo pipefail
script=$(realpath "$0")
cd "$(dirname "$script")/../.."
source tools/gpu/bundle.sh

usage() {
    sed -n '5,7s/^# *//p' "$script" >&2
    exit 2
}

gather() {
    local tests
    cargo build --release --features cuda
    tests=$(cargo test --release --features cuda --test cuda --no-run --message-format=json |
        python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and message["target"]["kind"] == ["test"]:
        print(message["executable"])')
    rm -rf "$bundle"
    mkdir -p "$bundle"
    cp "${CARGO_TARGET_DIR:-target}/release/fianchetto" "$bundle"
    cp "$tests" "$bundle/cuda-tests"
    strip "$bundle"/*
    set_aside
    weigh "something large lies untracked in the working tree"
}

# One step: a time limit, a log, a command. The next one is taken whatever happens.
failed=0
step() {
    local limit=$1 log=$2 status=0
    shift 2
    echo "== $log: $*"
    timeout "$limit" "$@" >"$out/$log" 2>&1 || status=$?
    tail -n 40 "$out/$log" | cut -c 1-200
    if [ "$status" != 0 ]; then
        failed=1
        echo "== $log: status $status$([ "$status" != 124 ] || echo ", out of time")" | tee -a "$out/$log"
    fi
}

run() {
    out=$(realpath -m "$1")
    mkdir -p "$out"
    export LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/local/nvidia/lib:${LD_LIBRARY_PATH:-}
    export PYTHONPATH=$PWD/tools/train FIANCHETTO_CUDA_CHECK
    local one=("$bundle/cuda-tests" --exact one_check --ignored --nocapture)
    chmod +x "$bundle"/*
    step 15 machine.txt sh -c "nvidia-smi; nproc; ldd $bundle/cuda-tests $bundle/fianchetto; ldd --version | head -1;
        python3 -c 'import torch; print(torch.__version__)'; command -v compute-sanitizer ncu"
    step 60 tests.txt "$bundle/cuda-tests" --exact on_this_machine --ignored --nocapture
    FIANCHETTO_CUDA_CHECK=timing
    step 40 timing.txt "${one[@]}"
    FIANCHETTO_CUDA_CHECK=timing_of_splits
    step 20 splits.txt "${one[@]}"
    step 45 torch.txt python3 tools/gpu/torch_speed.py
    step 20 search.txt "$bundle/fianchetto" speed --search --batch 8,32,64,128,256 --seconds 2 --backend cuda
    FIANCHETTO_CUDA_CHECK=mistake_in_single
    step 15 memcheck_single.txt compute-sanitizer --error-exitcode 9 "${one[@]}"
    step 15 racecheck_single.txt compute-sanitizer --tool racecheck --error-exitcode 9 "${one[@]}"
    FIANCHETTO_CUDA_CHECK=mistake_in_half
    step 15 memcheck_half.txt compute-sanitizer --error-exitcode 9 "${one[@]}"
    step 15 racecheck_half.txt compute-sanitizer --tool racecheck --error-exitcode 9 "${one[@]}"
    FIANCHETTO_CUDA_CHECK=mistake_in_split_single
    step 15 memcheck_split.txt compute-sanitizer --error-exitcode 9 "${one[@]}"
    FIANCHETTO_CUDA_CHECK=profile
    step 20 profile.txt ncu --clock-control none --set basic -c 2 "${one[@]}"
    return "$failed"
}

case "${1-}/$#" in
gather/1) gather ;;
run/2) run "$2" ;;
collect/1) put_back ;;
*) usage ;;
esac
