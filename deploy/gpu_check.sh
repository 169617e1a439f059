#!/usr/bin/env bash
# Tests and measures the GPU back end on a machine with a GPU and little else. Needs neither network nor root.
#
#   deploy/gpu_check.sh pack             on a machine with the toolkit: builds, collects files in build/gpu-check
#   deploy/gpu_check.sh [--results FILE] [--minutes N] [--only BLOCK] [--until BLOCK]      on the machine with the GPU
#
# Results are JSON lines in FILE (build/gpu-check/results.jsonl), written as they come; other output of programs goes to
# FILE's .log. A run ends after N minutes (9), and the next one continues where it stopped: blocks and items that
# succeeded are not run again. If FILE is new, the results in build/gpu-check/results.jsonl count.
# Blocks, the most wanted first: machine tests ceilings errors nets capped tf32 bf16 layers larger direct sanitizer.
# Their limits add up to half an hour. --until ends a run after a block; if most tests fail, a run ends after them. An
# item that had its longest possible time and took longer is tried again only with --only.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
pack=build/gpu-check
blocks="machine tests ceilings errors nets capped tf32 bf16 layers larger direct sanitizer"
programs="cuda_gpu_tests accelerator_tests znni-gpu-bench znni-split-bench"

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'gpu_check.sh: %s\n' "$*" >&2; exit 2; }

if [ "${1:-}" = pack ]; then
  [ $# -eq 1 ] || die "pack takes no arguments"
  cmake --preset cuda -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache >/dev/null || exit 1
  # shellcheck disable=SC2086
  cmake --build build/cuda -j "$(nproc)" --target znni_cuda_module $programs || exit 1
  rm -rf "$pack"/{bin,tests,lib,commit,programs.tar.gz} && mkdir -p "$pack/bin" "$pack/tests" "$pack/lib"
  cp build/cuda/bin/libznni_cuda.so build/cuda/bin/znni-gpu-bench build/cuda/bin/znni-split-bench "$pack/bin/"
  cp build/cuda/tests/cuda_gpu_tests build/cuda/tests/accelerator_tests "$pack/tests/"
  # Libraries that the programs need, except those of every system and CUDA's own, which are too large to copy.
  ldd "$pack"/bin/* "$pack"/tests/* | awk '$3 ~ "^/" { print $3 }' | sort -u |
    grep -vE '/(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so|ld-linux|libcu(bla|da|dnn|ff|pti|rand|solver|sparse)|libnv)' |
    xargs -r cp -L -t "$pack/lib"
  strip "$pack"/bin/* "$pack"/tests/*
  git describe --always --dirty --abbrev=40 >"$pack/commit"
  tar -C "$pack" -czf "$pack/programs.tar.gz" bin tests lib commit || exit 1
  (cd "$pack" && rm -rf bin tests lib commit)
  say "take this folder along with the sources: $(du -sh "$pack" | cut -f1) in $pack"
  exit 0
fi

results=$pack/results.jsonl minutes=9 only="" until=""
while [ $# -gt 0 ]; do
  case "$1" in
    --results | --minutes | --only | --until) [ $# -ge 2 ] || die "$1 needs a value" ;;
    *) die "no option '$1'; see the head of this script" ;;
  esac
  case "$1" in --results) results=$2 ;; --minutes) minutes=$2 ;; --only) only=$2 ;; --until) until=$2 ;; esac
  shift 2
done
case "$minutes" in '' | *[!0-9]*) die "--minutes is '$minutes', expected a whole number" ;; esac
for name in "$only" "$until"; do
  [ -z "$name" ] || [[ " $blocks " == *" $name "* ]] || die "no block '$name'"
done
[ -z "$only" ] || [ -z "$until" ] || die "--only and --until exclude each other"

bench=$pack/bin/znni-gpu-bench
split=$pack/bin/znni-split-bench
if [ -e "$pack/programs.tar.gz" ]; then
  rm -rf "$pack"/{bin,tests,lib,commit}
  if ! tar -C "$pack" -xzf "$pack/programs.tar.gz"; then
    rm -rf "$pack"/{bin,tests,lib,commit}
    die "$pack/programs.tar.gz is cut off: bring it along again"
  fi
fi
[ -x "$bench" ] || die "$bench is missing: run 'deploy/gpu_check.sh pack' where nvcc is, and bring $pack along"
export PATH="$PATH:/usr/local/cuda/bin:/usr/local/nvidia/bin"
# Prints the folders of CUDA's libraries: the loader's own places first, then Python packages, whose cuDNN is the one
# that PyTorch uses, then the toolkit and the driver. Only our programs need them: Python finds its own.
library_folders() {
  [ -z "${LD_LIBRARY_PATH:-}" ] || echo "$LD_LIBRARY_PATH"
  python3 - 2>/dev/null <<'PY'
import glob, site, sys
for place in dict.fromkeys(site.getsitepackages() + sys.path):
    for folder in sorted(glob.glob(place + "/nvidia/*/lib")):
        print(folder)
PY
  for folder in /usr/local/cuda/lib64 /usr/local/cuda/lib /usr/local/nvidia/lib64; do [ ! -d "$folder" ] || echo "$folder"; done
  echo "$PWD/$pack/lib"
}
libraries=$(library_folders | paste -sd:)
ours=(env "LD_LIBRARY_PATH=$libraries")
missing_of() { "${ours[@]}" ldd "$1" 2>/dev/null | awk '/not found/ { print $1 }' | sort -u | paste -sd' '; }
missing=$(missing_of "$bench")
[ -z "$missing" ] || die "these libraries are in none of $libraries: $missing"
said=$( (timeout --kill-after=5 120 "${ours[@]}" "$bench" machine) 2>&1)
status=$?
[ $status -ne 77 ] || die "${said#znni-gpu-bench: }: there is nothing to check on this machine"
[ $status -eq 0 ] || die "$bench ends with status $status: is $pack whole? Bring it along again${said:+ ($said)}"
# Number of tests at a time, because each takes some GiB of the GPU's memory.
memory=$(sed -n 's/.*"memory_GiB": \([0-9]*\).*/\1/p' <<<"$said" | head -n 1)
cores=$(nproc)
at_once=$((${memory:-8} / 8))
[ "$at_once" -le $((cores / 2)) ] || at_once=$((cores / 2))
[ "$at_once" -le 6 ] || at_once=6
[ "$at_once" -ge 1 ] || at_once=1
failed=0 unfinished="" ended=""

deadline=$((60 * 10#$minutes))  # of SECONDS, which counts from the start of this script
mkdir -p "$(dirname "$results")"
[ -s "$results" ] || [ ! -s "$pack/results.jsonl" ] || cp "$pack/results.jsonl" "$results"
# Figures of another GPU or of other programs must not be in one table.
this="$(cat "$pack/commit") on $(sed -n 's/.*"gpu": "\([^"]*\)".*/\1/p' <<<"$said" | head -n 1)"
before=$(sed -n 's/.*"block": "of", "what": "\([^"]*\)".*/\1/p' "$results" 2>/dev/null | head -n 1)
[ -z "$before" ] || [ "$before" = "$this" ] || die "$results is of $before, this is $this: name another file with --results"
touch "$results"
[ -z "$(tail -c 1 "$results")" ] || echo >>"$results"  # a line that was cut off stays alone
[ -n "$before" ] || printf '{"block": "of", "what": "%s"}\n' "$this" >>"$results"
exec 2> >(tee -a "${results%.jsonl}.log" >&2)

# block NAME SECONDS: runs function run_NAME, unless it is done or not wanted. Its lines go to the results at once.
block() {
  local name=$1 limit=$2 left=$((deadline - SECONDS)) begun=$SECONDS status
  [ -z "$only" ] || [ "$only" = "$name" ] || return 0
  [ -z "$ended" ] || return 0
  [ "$until" != "$name" ] || ended=yes
  if grep -q "\"block\": \"check\", \"name\": \"$name\", \"status\": 0" "$results"; then
    say "$name: done before"
    return 0
  fi
  [ "$left" -gt 5 ] || { unfinished="$unfinished $name"; return 0; }
  block_most=$limit
  [ "$limit" -lt "$left" ] || limit=$left
  say "$name, at most $limit s"
  block_end=$((SECONDS + limit))
  ("run_$name") >>"$results"
  status=$?
  printf '{"block": "check", "name": "%s", "status": %d, "seconds": %d}\n' "$name" "$status" \
    $((SECONDS - begun)) >>"$results"
  case $status in
    0) ;;
    124) unfinished="$unfinished $name" ;;
    *) failed=1; say "$name: status $status" ;;
  esac
}

# item NAME SECONDS COMMAND...: runs a part of a block, unless it is done, within its own time and the block's. Status
# 124: the block's time was up, and the next run tries again. Status 125: the item's own time was up, or all time that
# the block ever has for it; it has failed and is tried again only on request.
item() {
  local name=$1 limit=$2 own=$2 left=$((block_end - SECONDS)) begun=$SECONDS status
  local line="{\"block\": \"item\", \"name\": \"$1\", \"status\":"
  shift 2
  ! grep -qF "$line 0," "$results" || return 0
  if [ -z "$only" ] && grep -qF "$line 125," "$results"; then
    printf '%s: took longer than it may before, is not tried again\n' "$name" >&2
    return 125
  fi
  [ "$left" -ge 3 ] || return 124
  # The block began up to two seconds ago.
  [ "$own" -le $((block_most - 2)) ] || own=$((block_most - 2))
  [ "$limit" -le "$left" ] || limit=$left
  timeout --kill-after=20 "$limit" "$@"
  status=$?
  [ $status -ne 137 ] || status=124  # it had to be killed
  [ $status -ne 124 ] || [ "$limit" -lt "$own" ] || status=125
  printf '{"block": "item", "name": "%s", "status": %d, "seconds": %d}\n' "$name" "$status" $((SECONDS - begun))
  [ $status -eq 0 ] || printf '%s: status %d (124, 125: out of time)\n' "$name" "$status" >&2
  return $status
}

# worse A B: prints the worse of two statuses; a failure is worse than 124.
worse() {
  if [ "$1" -eq 0 ] || { [ "$1" -eq 124 ] && [ "$2" -ne 0 ]; }; then echo "$2"; else echo "$1"; fi
}

# each ITEM...: runs `item` with these words, and keeps the worst status in `worst`.
each() { item "$@"; worst=$(worse "$worst" $?); }

run_machine() {
  timeout 30 nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,pcie.link.gen.max --format=csv,noheader >&2
  printf 'libraries: %s\n' "$libraries" >&2
  printf '{"block": "commit", "commit": "%s", "date": "%s"}\n' "$(cat "$pack/commit")" "$(date -u +%FT%TZ)"
  timeout 120 "${ours[@]}" "$bench" machine
}

# tests_of PROGRAM PATTERN: prints the names of the program's tests that contain PATTERN.
tests_of() {
  timeout 60 "${ours[@]}" "$pack/tests/$1" --gtest_list_tests |
    awk -v want="$2" '/^[^ ]/ { suite = $1; next } { name = suite $1 } name ~ want { print name }'
}
# Runs each test in its own process, so that a GPU error of one test does not affect the next. Runs several at a time,
# because the oracle takes most of their time.
run_tests() {
  local worst=0 running=0 program pattern name
  local test=("${ours[@]}" ZNNI_REQUIRE_GPU=1 "ZNNI_CASE_FOLDER=$PWD/tests/cases" bash -c '"$@" >&2' run)
  while read -r program pattern; do
    for name in $(tests_of "$program" "$pattern"); do
      if [ "$running" -ge "$at_once" ]; then
        wait -n
        worst=$(worse "$worst" $?)
        running=$((running - 1))
      fi
      item "test $name" 120 "${test[@]}" "$pack/tests/$program" --gtest_brief=1 --gtest_filter="$name" &
      running=$((running + 1))
    done
    [ -n "${name:-}" ] || { echo "$program names no tests" >&2; worst=1; }
    name=""
  done <<<"cuda_gpu_tests OnGpu
accelerator_tests /Cuda"
  while [ "$running" -gt 0 ]; do
    wait -n
    worst=$(worse "$worst" $?)
    running=$((running - 1))
  done
  return "$worst"
}
run_ceilings() { item ceilings 55 "${ours[@]}" "$bench" ceilings; }
run_errors() {
  local worst=0 net
  for net in n337 n537 n726 n926; do
    each "error $net" 60 python3 deploy/lib/gpu_torch.py error "$net" --bench "$bench" --libraries "$libraries"
  done
  return "$worst"
}
# speed NET LAST CANDIDATES MODE...: times our program on one net.
speed() {
  local net=$1 last=$2 candidates=$3 mode
  shift 3
  for mode in "$@"; do
    each "net $net $last $mode" 45 "${ours[@]}" "$bench" net --net "$net" --last "$last" --mode "$mode" \
      --candidates "$candidates"
  done
}
# torch NET LAST SECONDS PLANS MODE...: times PyTorch, which tries PLANS of cuDNN's plans for each layer.
torch() {
  local net=$1 last=$2 limit=$3 plans=$4 mode
  shift 4
  for mode in "$@"; do
    each "net $net $last PyTorch $mode" "$limit" python3 deploy/lib/gpu_torch.py speed "$net" --last "$last" \
      --plans "$plans" --mode "$mode"
  done
}
# run_nets: times all nets. Outputs have 160^3 voxels, that of n926 192^3, so that the last layers have whole
# overlap-save tiles.
run_nets() {
  local worst=0 one
  for one in "n337 20" "n537 20" "n726 40" "n926 48"; do
    set -- $one
    speed "$1" "$2" 3 f32 fft_tf32
    torch "$1" "$2" 60 3 bf16
    speed "$1" "$2" 8 bf16
  done
  for one in "n337 20" "n537 20" "n726 40" "n926 48"; do
    set -- $one
    torch "$1" "$2" 75 2 tf32
    speed "$1" "$2" 8 tf32
  done
  return "$worst"
}
# Runs larger patches. Direct forms of the nets with large kernels take minutes there.
run_larger() {
  local worst=0 one
  for one in "n337 50" "n537 44" "n726 92" "n926 96"; do
    set -- $one
    speed "$1" "$2" 3 f32 fft_tf32
    torch "$1" "$2" 60 1 bf16
  done
  speed n337 50 8 bf16
  speed n537 44 8 bf16
  torch n337 20 90 3 compiled
  torch n537 20 90 3 compiled
  return "$worst"
}
# Runs layers of about 1 TFLOP each in the direct form, 80 -> 80 channels; and a first layer, with and without pooling.
run_layers() {
  local worst=0 one
  for one in "2 213" "3 143" "4 106" "5 86" "7 61" "9 48"; do
    set -- $one
    each "layer $1 $2" 30 "${ours[@]}" "$bench" layer --k "$1" --n $(($2 + $1 - 1))
  done
  each "layer first" 20 "${ours[@]}" "$bench" layer --k 4 --n 202 --f 1
  each "layer first pooled" 20 "${ours[@]}" "$bench" layer --k 4 --n 202 --f 1 --pool 2
  return "$worst"
}
# capped NET STRATEGY PRIMITIVES PATCHES SECONDS [PRECISION [MEMORY]]: runs a plan of so many seconds for MEMORY, by
# default the 11 GiB of the paper's cards, and 48 GiB of host RAM.
capped() {
  local net=$1 strategy=$2 primitives=$3 patches=$4 planning=$5 precision=${6:-fp32} memory=${7:-11G}
  each "capped $net $strategy $primitives $precision $memory" $((planning + 70)) "${ours[@]}" "$split" --net "$net" \
    --strategy "$strategy" --mem 48G --gpu-mem "$memory" --extent 320 --patches "$patches" --primitives "$primitives" \
    --plan-seconds "$planning" --precision "$precision"
}
# Runs the GPU alone, with layers through host RAM, and with a head on the CPU. Plans without cuDNN, because its direct
# forms in float32 are far slower than transforms.
run_capped() {
  local worst=0 net strategy
  each divided 90 "${ours[@]}" "$bench" divided
  for net in n537 n926 n337 n726; do
    for strategy in gpu gpu-host-ram cpu-gpu; do capped "$net" "$strategy" fft 3 15; done
  done
  return "$worst"
}
# Measures the gain of products in TF32.
run_tf32() {
  local worst=0 net strategy
  for net in n537 n926 n337 n726; do
    for strategy in gpu gpu-host-ram; do capped "$net" "$strategy" fft 3 15 tf32; done
  done
  return "$worst"
}
# Measures the gain of bf16 for small kernels, which matrix units compute directly.
run_bf16() {
  local worst=0 strategy
  for strategy in gpu gpu-host-ram cpu-gpu; do capped n337 "$strategy" all 3 15 bf16; done
  return "$worst"
}
# Runs the paper's own primitives and measures the gain of layers through host RAM (its Table V). This is in 1 GiB,
# because in 11 GiB the GPU alone has room for the largest of these patches. There one run gives both.
run_direct() {
  local worst=0 net strategy
  for net in n537 n926; do
    for strategy in gpu gpu-host-ram; do capped "$net" "$strategy" direct 1 40 fp32 1G; done
  done
  for net in n537 n926; do capped "$net" gpu-host-ram direct 1 40; done
  return "$worst"
}
run_sanitizer() {
  command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not here" >&2; return 0; }
  local worst=0 tool
  for tool in memcheck racecheck; do
    each "sanitizer $tool" 60 "${ours[@]}" ZNNI_REQUIRE_GPU=1 ZNNI_TEST_CASES=2 bash -c '"$@" >&2' run \
      compute-sanitizer --tool "$tool" --error-exitcode 9 "$pack/tests/cuda_gpu_tests" --gtest_brief=1 \
      --gtest_filter='CudaResultsOnGpu.KernelsOfOurOwn'
  done
  return "$worst"
}

# Ends the run if most tests fail, because figures of programs that compute wrong results are worthless.
end_if_most_tests_fail() {
  local bad all
  [ -z "$only$ended" ] || return 0
  read -r bad all < <(awk -F'"' '
    $4 == "item" && $8 ~ /^test / { status[$8] = substr($0, index($0, "\"status\": ") + 10) + 0 }
    END { for (name in status) { all++; bad += status[name] != 0 && status[name] != 124 } print bad + 0, all + 0 }' "$results")
  [ $((2 * bad)) -gt "$all" ] || return 0
  say "$bad of $all tests fail: nothing is measured; --only BLOCK does it all the same"
  ended=yes failed=1
}

block machine 60
block tests 180
end_if_most_tests_fail
block ceilings 60
block errors 120
block nets 390
block capped 200
block tf32 90
block bf16 90
block layers 110
block larger 180
block direct 245
block sanitizer 65
python3 deploy/lib/gpu_table.py "$results" || failed=1
[ -z "$unfinished" ] || say "unfinished, for the next run:$unfinished"
[ -z "$unfinished" ] || failed=1
exit $failed
