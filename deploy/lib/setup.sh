# Sourced by deploy/bench, deploy/demo and deploy/test: installs missing packages, configures and builds. Prints what it
# does. A second run has nothing to do and takes seconds.

say() { printf '\n== %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

root_of_clone() { cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
    die "needs root to install packages: run as root or install sudo"
  fi
}

# persist COMMAND...: tries the command up to three times. A mirror may change between a list and what is on it.
persist() {
  local pause
  for pause in 10 60; do
    "$@" && return
    say "failed, again in $pause s: $*"
    sleep "$pause"
  done
  "$@"
}

# listed FILE: prints the names in a package list, without comments and blank lines.
listed() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1"; }

missing_packages() {
  local name
  for name in $(listed "$1"); do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || echo "$name"
  done
}

# install_packages LIST...: installs the Debian packages named in deploy/packages/LIST.txt.
install_packages() {
  command -v apt-get >/dev/null || die "apt-get not found: only Debian 12 is set up by this script (see docs/install.md)"
  local list missing=""
  for list in "$@"; do missing+=" $(missing_packages "$root/deploy/packages/$list.txt")"; done
  missing=$(echo $missing)
  [ -n "$missing" ] || return 0
  say "installing: $missing"
  persist update_and_install "$missing"
}

# update_and_install NAMES: installs Debian packages by an up-to-date list.
update_and_install() {
  as_root apt-get -o DPkg::Lock::Timeout=500 -q update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=500 install -q -y --no-install-recommends $1
}

# install_python: makes a Python environment of the pinned packages in deploy/packages/python.txt, in build/venv.
install_python() {
  local list="$root/deploy/packages/python.txt" venv="$root/build/venv"
  cmp -s "$list" "$venv/installed.txt" && return 0
  say "installing Python packages into build/venv"
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  persist "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$list"
  cp "$list" "$venv/installed.txt"
}

# add_python LIST: installs the pinned packages of deploy/packages/LIST.txt in build/venv, beside the others. Lists name all
# that is needed.
add_python() {
  local list="$root/deploy/packages/$1.txt" venv="$root/build/venv"
  cmp -s "$list" "$venv/installed-$1.txt" && return 0
  say "installing the Python packages of deploy/packages/$1.txt into build/venv"
  persist "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$list"
  cp "$list" "$venv/installed-$1.txt"
}

# build_preset PRESET [targets...]: builds the named targets, or all if none is named.
build_preset() {
  local preset=$1 log="$root/build/configure-$1.log"
  shift
  say "building preset $preset"
  grep -qwE 'avx2|asimd|Features' /proc/cpuinfo || die "this processor has no AVX2: x86-64-v3 or newer is needed"
  # ccache keeps what was compiled with precompiled headers only if it may leave out macros that change between runs. It
  # takes the headers from the compiler's own list of them, so that nothing is preprocessed twice. Paths below the root
  # are relative for it: presets then share what they compile alike.
  (cd "$root" && cmake --preset "$preset" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="env;CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_DEPEND=1;CCACHE_BASEDIR=$root;ccache" \
    -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache -DZNNI_TEST_PYTHON="$root/build/venv/bin/python" >"$log" 2>&1) || { tail -30 "$log" >&2; die "configuring failed: see $log"; }
  cmake --build "$root/build/$preset" -j "$(nproc)" ${1:+--target "$@"}
}

root=$(root_of_clone)
mkdir -p "$root/build"
