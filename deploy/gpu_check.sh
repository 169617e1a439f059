#!/usr/bin/env bash
# Proves and measures the GPU back end on a machine with a GPU and little else; needs no network and no root.
#
#   deploy/gpu_check.sh pack             on a machine with the toolkit: builds, collects what travels in build/gpu-check
#   deploy/gpu_check.sh [--results FILE] [--minutes N] [--only BLOCK]      on the machine with the GPU
#
# Results are JSON lines in FILE (build/gpu-check/results.jsonl), written as they come; what has finished is not run
# again, neither blocks nor what they consist of. Blocks: machine tests sanitizer ceilings errors layers nets capped; their
# limits add up to less than nine minutes.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
pack=build/gpu-check
programs="cuda_tests cuda_gpu_tests accelerator_tests znni-gpu-bench znni-split-bench"

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'gpu_check.sh: %s\n' "$*" >&2; exit 2; }

if [ "${1:-}" = pack ]; then
  [ $# -eq 1 ] || die "pack takes no arguments"
  cmake --preset cuda -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache >/dev/null || exit 1
  # shellcheck disable=SC2086
  cmake --build build/cuda -j "$(nproc)" --target znni_cuda_module $programs || exit 1
  rm -rf "$pack" && mkdir -p "$pack/bin" "$pack/tests" "$pack/lib"
  cp build/cuda/bin/libznni_cuda.so build/cuda/bin/znni-gpu-bench build/cuda/bin/znni-split-bench "$pack/bin/"
  # What the CPU's primitives need, and what that needs, beside what every system has.
  ldd build/cuda/bin/znni-split-bench | awk '$3 ~ /lib(dnnl|hwloc|fftw3f|gomp|udev|cap|xml2|z|lzma|icu[a-z]*)\.so/ { print $3 }' |
    xargs -r cp -L -t "$pack/lib"
  for program in $programs; do
    [ ! -e "build/cuda/tests/$program" ] || cp "build/cuda/tests/$program" "$pack/tests/"
  done
  strip "$pack"/bin/* "$pack"/tests/*
  git rev-parse HEAD >"$pack/commit"
  say "take this folder along with the sources: $(du -sh "$pack" | cut -f1) in $pack"
  exit 0
fi

results=$pack/results.jsonl minutes=9 only=""
while [ $# -gt 0 ]; do
  case "$1" in
    --results | --minutes | --only) [ $# -ge 2 ] || die "$1 needs a value" ;;
    *) die "no option '$1'; see the head of this script" ;;
  esac
  case "$1" in --results) results=$2 ;; --minutes) minutes=$2 ;; --only) only=$2 ;; esac
  shift 2
done
case "$minutes" in '' | *[!0-9]*) die "--minutes is '$minutes', expected a whole number" ;; esac
case "$only" in '' | machine | tests | sanitizer | ceilings | errors | layers | nets | capped) ;; *) die "no block '$only'" ;; esac

bench=$pack/bin/znni-gpu-bench
[ -x "$bench" ] || die "$bench is missing: run 'deploy/gpu_check.sh pack' where nvcc is, and bring $pack along"
# CUDA's libraries, wherever they are: the loader's own places first, then the toolkit, then Python packages.
library_folders() {
  for folder in /usr/local/cuda/lib64 /usr/local/cuda/lib; do [ ! -d "$folder" ] || echo "$folder"; done
  python3 - 2>/dev/null <<'PY'
import glob, site, sys
for place in {*site.getsitepackages(), *sys.path}:
    for folder in glob.glob(place + "/nvidia/*/lib"):
        print(folder)
PY
}
folders=$(library_folders | paste -sd:)
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folders:$PWD/$pack/lib"
missing=$(ldd "$bench" "$pack/bin/znni-split-bench" 2>/dev/null | awk '/not found/ { print $1 }' | sort -u | paste -sd' ')
[ -z "$missing" ] || die "these libraries are in none of $LD_LIBRARY_PATH: $missing"
said=$( ("$bench" machine >/dev/null) 2>&1 )
status=$?
[ $status -ne 77 ] || die "${said#znni-gpu-bench: }: there is nothing to check on this machine"
[ $status -eq 0 ] || die "$bench ends with status $status: is $pack whole? Bring it along again"
failed=0

deadline=$((SECONDS + 60 * minutes))
mkdir -p "$(dirname "$results")"
touch "$results"
[ -z "$(tail -c 1 "$results")" ] || echo >>"$results"  # a line that was cut off stays alone

# block NAME SECONDS FUNCTION: unless it is done, under a time limit; its lines go to the results at once.
block() {
  local name=$1 limit=$2 function=$3 left=$((deadline - SECONDS)) status
  [ -z "$only" ] || [ "$only" = "$name" ] || return 0
  if grep -q "\"block\": \"check\", \"name\": \"$name\", \"status\": 0" "$results"; then
    say "$name: done before"
    return 0
  fi
  [ "$left" -gt 5 ] || { say "$name: no time left"; return 0; }
  [ "$limit" -lt "$left" ] || limit=$left
  say "$name, at most $limit s"
  export -f "$function" item && export bench pack results
  timeout --kill-after=5 "$limit" bash -c "$function" >>"$results"
  status=$?
  printf '{"block": "check", "name": "%s", "status": %d, "seconds": %d}\n' "$name" "$status" \
    $((SECONDS - (deadline - left))) >>"$results"
  [ $status -eq 0 ] || { failed=1; say "$name: status $status (124: out of time)"; }
}

# item NAME SECONDS COMMAND...: a part of a block, unless it is done, under a time limit.
item() {
  local name=$1 limit=$2
  shift 2
  ! grep -qF "\"block\": \"item\", \"name\": \"$name\"" "$results" || return 0
  timeout "$limit" "$@" || return 1
  printf '{"block": "item", "name": "%s"}\n' "$name"
}

run_machine() {
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,pcie.link.gen.max --format=csv,noheader >&2
  printf '{"block": "commit", "commit": "%s", "date": "%s"}\n' "$(cat "$pack/commit")" "$(date -u +%FT%TZ)"
  "$bench" machine
}
run_tests() {
  export ZNNI_REQUIRE_GPU=1 ZNNI_CASE_FOLDER="$PWD/tests/cases"
  local failed=0 program
  for program in cuda_tests cuda_gpu_tests accelerator_tests; do
    "$pack/tests/$program" --gtest_brief=1 >&2 || failed=1
  done
  return $failed
}
run_sanitizer() {
  command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not here" >&2; return 0; }
  local tool failed=0
  for tool in memcheck racecheck; do
    ZNNI_TEST_CASES=4 timeout 40 compute-sanitizer --tool "$tool" --error-exitcode 9 "$pack/tests/cuda_gpu_tests" \
      --gtest_brief=1 --gtest_filter='*Reorders*:*RandomProblems*' >&2 || failed=1
  done
  return $failed
}
run_ceilings() { "$bench" ceilings; }
run_errors() {
  local failed=0 net
  for net in n337 n537 n726 n926; do
    item "error $net" 25 python3 deploy/lib/gpu_torch.py error "$net" --bench "$bench" || failed=1
  done
  return $failed
}
# About 2 TFLOP of the direct form each, 80 -> 80 images; and a first layer.
run_layers() {
  local failed=0 one
  for one in "2 269" "3 180" "4 134" "5 108" "7 77" "9 60"; do
    set -- $one
    item "layer $1 $2" 15 "$bench" layer --k "$1" --n $(($2 + $1 - 1)) || failed=1
  done
  item "layer first" 10 "$bench" layer --k 4 --n 202 --f 1 || failed=1
  item "layer first pooled" 10 "$bench" layer --k 4 --n 202 --f 1 --pool 2 || failed=1
  return $failed
}
run_nets() {
  local failed=0 one mode
  for one in "n337 20" "n537 20" "n726 40" "n926 40" "n337 48" "n537 30" "n726 60" "n926 60"; do
    set -- $one
    for mode in fft_tf32 f32 bf16 tf32; do
      item "net $1 $2 $mode" 10 "$bench" net --net "$1" --last "$2" --mode "$mode" --candidates 3 || failed=1
    done
    item "net $1 $2 PyTorch" 25 python3 deploy/lib/gpu_torch.py speed "$1" --last "$2" || failed=1
  done
  return $failed
}
# Within 11 GiB, as the paper's cards had, and 48 GiB of host RAM: the GPU alone, with layers through host RAM, and with a
# head on the CPU; with the paper's primitives, and with all.
run_capped() {
  local failed=0 net strategy primitives
  for net in n537 n926 n337 n726; do
    for primitives in all direct; do
      for strategy in gpu gpu-host-ram cpu-gpu; do
        item "capped $net $strategy $primitives" 20 "$pack/bin/znni-split-bench" --net "$net" --strategy "$strategy" \
          --mem 48G --gpu-mem 11G --extent 320 --patches 3 --primitives "$primitives" || failed=1
      done
    done
  done
  return $failed
}

block machine 15 run_machine
block tests 90 run_tests
block ceilings 30 run_ceilings
block errors 60 run_errors
block layers 60 run_layers
block nets 130 run_nets
block capped 100 run_capped
block sanitizer 45 run_sanitizer
python3 deploy/lib/gpu_table.py "$results" || failed=1
exit $failed
