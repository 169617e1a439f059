# Sourced by .ci/image and .ci/cuda_image, after deploy/lib/setup.sh: images without a Docker engine, by buildah and podman,
# in a store of their own below build/image. Sets work, base, ZNNI_IMAGE_OPTIONS; defines pod, for podman in that store.
# Where it cannot be had, that is said, and the script ends: not_tried.

not_tried() { printf '\n!!!!\n!!!! SKIPPED: the image was not tried: %s\n!!!!\n' "$*"; exit 0; }
[ "$(id -u)" = 0 ] || not_tried "root is needed"
command -v apt-get >/dev/null || not_tried "apt-get not found"
(install_packages image package) || not_tried "buildah and podman cannot be installed"

work="$root/build/image"
mkdir -p "$work"
cat >"$work/containers.conf" <<'END'
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
END
export CONTAINERS_CONF="$work/containers.conf"
store="--root $work/store --runroot $work/run --storage-driver"
export ZNNI_IMAGE_OPTIONS="$store overlay"
podman $ZNNI_IMAGE_OPTIONS info >/dev/null 2>&1 || ZNNI_IMAGE_OPTIONS="$store vfs"
pod() { podman $ZNNI_IMAGE_OPTIONS "$@"; }

# Where this machine's own packages come from; the public base image holds the same.
base=localhost/debian:bookworm-slim
if ! pod image exists "$base"; then
  say "base image"
  mirror=$(find /etc/apt -name '*.list' -o -name '*.sources' | sort | xargs cat |
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\).*/\2/p' | sed q)
  rm -rf "$work/rootfs"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$work/rootfs" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    not_tried "debootstrap failed: $(tail -1 "$work/debootstrap.log")"
  rm -rf "$work"/rootfs/var/{lib/apt/lists,cache/apt}/* "$work"/rootfs/usr/share/{man,locale}/*
  tar -C "$work/rootfs" -c . | pod import - "$base" >/dev/null
  rm -rf "$work/rootfs"
fi

pod run --rm --read-only "$base" true 2>"$work/probe.log" || not_tried "containers cannot be run here: $(tail -1 "$work/probe.log")"
size() { pod image inspect --format '{{.Size}}' "$1"; }
