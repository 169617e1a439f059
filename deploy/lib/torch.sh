# shellcheck shell=bash disable=SC2154,SC2034 # root: setup.sh; torch_environment, torch_malloc: deploy/bench, deploy/compare
# Sourced by deploy/bench, after setup.sh: installs PyTorch for the CPU only. PyPI's wheel for Linux is linked to
# gigabytes of CUDA libraries that no run on a CPU calls. All but the small runtime are left out. One library whose
# functions all return 1 ("failed") replaces them, with an empty library under each of their names. It goes into the
# environment $torch_venv, by default build/venv.

torch_venv=${torch_venv:-$root/build/venv}
stubs="$torch_venv/torch-stubs"

# make_stubs LIBRARY-FOLDER RUNTIME: makes these libraries.
make_stubs() {
  local wanted=$1 runtime=$2 prefix='^(cu[a-zA-Z]*[A-Z]|nccl|nvshmem|nvrtc|nvJit|nvtx)' name library
  rm -rf "$stubs" && mkdir -p "$stubs"
  LC_ALL=C comm -23 <(nm -D --undefined-only "$wanted"/*.so | awk '{ sub(/@.*/, "", $2); print $2 }' |
    grep -E "$prefix" | LC_ALL=C sort -u) \
    <(nm -D --defined-only "$wanted"/*.so "$runtime" | awk '{ sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u) |
    sed 's/.*/int &(void) { return 1; }/' | gcc -w -shared -fPIC -x c - -o "$stubs/none.so"
  gcc -shared -x c /dev/null -o "$stubs/empty.so"
  for library in "$wanted"/*.so; do objdump -p "$library" | awk '/NEEDED/ { print $2 }'; done | sort -u |
    grep -E '^lib(cu|nccl|nv)' | grep -v '^libcudart' | while read -r name; do ln -s empty.so "$stubs/$name"; done
}

# Command that runs a program with the stubs, and with a malloc that keeps its memory. Fresh pages for each tensor take
# PyTorch more time than poolings do.
torch_malloc=(MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=68719476736 MALLOC_TOP_PAD_=67108864)
torch_environment=(env "${torch_malloc[@]}"
  "LD_PRELOAD=$stubs/none.so" "LD_LIBRARY_PATH=$stubs")

# install_torch: installs the pinned packages of deploy/packages/bench.txt in $torch_venv, beside the others.
install_torch() {
  local list="$root/deploy/packages/bench.txt" venv="$torch_venv" packages
  cmp -s "$list" "$venv/installed-bench.txt" && return 0
  say "installing PyTorch into ${venv#"$root/"} (about 550 MB)"
  rm -f "$venv/installed-bench.txt"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$list"
  packages=("$venv"/lib/python3*/site-packages)
  make_stubs "${packages[0]}/torch/lib" "${packages[0]}"/nvidia/*/lib/libcudart.so.*
  "${torch_environment[@]}" "$venv/bin/python" -c 'import torch; assert torch.backends.mkldnn.is_available()' ||
    die "PyTorch does not start: see above"
  cp "$list" "$venv/installed-bench.txt"
}
