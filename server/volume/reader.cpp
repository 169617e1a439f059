#include "server/volume/reader.hpp"

#include <algorithm>
#include <cstdint>

#include "planner/network/swap_axes.hpp"
#include "server/volume/element.hpp"

namespace znni {
namespace {

// Below this, waking the workers costs more than it saves.
constexpr std::int64_t min_shared_elements = 1 << 16;

// The part of one window that lies in the volume: window voxels [first, last).
struct Inside {
  Vec3 first;
  Vec3 last;
};
Inside inside(Vec3 start, Vec3 window, Vec3 volume) {
  const Vec3 zero{};
  const Vec3 first = min(max(zero - start, zero), window);
  return {first, max(min(volume - start, window), first)};
}

// Reads one z plane of one channel of one window.
class PlaneReader {
 public:
  PlaneReader(const PlaneSource& volume, const Normalisation& normalisation, const TensorView& in, int axis)
      : volume_(volume), normalisation_(normalisation), in_(in), axis_(axis) {}

  void read(std::int64_t s, std::int64_t j, std::int64_t z, Vec3 start) const {
    const Inside part = inside(start, in_.shape.n, swap_axes(volume_.shape().n, axis_));
    for (std::int64_t y = 0; y < in_.shape.n.y; ++y) {
      float* row = in_.channel(s, j) + z * in_.strides.z + y * in_.strides.y;
      const bool covered = part.first.z <= z && z < part.last.z && part.first.y <= y && y < part.last.y;
      const std::int64_t first = covered ? part.first.x : 0;
      const std::int64_t last = covered ? part.last.x : 0;
      std::fill(row, row + first, 0.0F);
      if (first < last) read_part(j, start + Vec3{z, y, first}, last - first, row + first);
      std::fill(row + last, row + in_.shape.n.x, 0.0F);
    }
  }

 private:
  // Reads `count` voxels of channel j from `position` on, as `in` counts.
  void read_part(std::int64_t j, Vec3 position, std::int64_t count, float* to) const {
    const ElementType type = volume_.shape().type;
    if (axis_ != 2) return read_row(type, at(j, position), count, normalisation_, to);
    for (std::int64_t i = 0; i < count; ++i) {  // each out of another plane
      read_row(type, at(j, position + Vec3{0, 0, i}), 1, normalisation_, to + i);
    }
  }

  [[nodiscard]] const std::byte* at(std::int64_t j, Vec3 position) const {
    const VolumeShape& shape = volume_.shape();
    position = swap_axes(position, axis_);
    return volume_.plane(j, position.z) + (position.y * shape.n.x + position.x) * element_bytes(shape.type);
  }

  const PlaneSource& volume_;
  const Normalisation& normalisation_;
  const TensorView& in_;
  int axis_;
};

// Returns the floats between two places; none if there are no whole ones.
std::optional<std::int64_t> floats_between(const std::byte* from, const std::byte* to) {
  const std::int64_t bytes = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to)) -
                             static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(from));
  constexpr auto size = static_cast<std::int64_t>(sizeof(float));
  return bytes % size == 0 ? std::optional(bytes / size) : std::nullopt;
}

// Returns the strides of `count` planes from plane z on, of all channels; none if the distances are not even.
std::optional<Strides> even_strides(const PlaneSource& volume, std::int64_t z, std::int64_t count) {
  const std::int64_t f = volume.shape().f;
  const std::byte* const first = volume.plane(0, z);
  const std::optional<std::int64_t> to_plane = count == 1 ? 0 : floats_between(first, volume.plane(0, z + 1));
  const std::optional<std::int64_t> to_channel = f == 1 ? 0 : floats_between(first, volume.plane(1, z));
  if (!to_plane || !to_channel || *to_plane < 0 || *to_channel < 0) return std::nullopt;
  for (std::int64_t j = 0; j < f; ++j) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (floats_between(first, volume.plane(j, z + i)) != j * *to_channel + i * *to_plane) return std::nullopt;
    }
  }
  return Strides{f * *to_channel, *to_channel, *to_plane, volume.shape().n.x, 1};
}

}  // namespace

void read_windows(const PlaneSource& volume, const Normalisation& normalisation, std::span<const Vec3> starts,
                  const TensorView& in, Executor& executor, int axis) {
  ensure(static_cast<std::int64_t>(starts.size()) == in.shape.S, "a window starts for every input of the tensor");
  ensure(in.shape.f == volume.shape().f && in.format == Format{}, "the input tensor is planar and has f channels");
  const PlaneReader reader(volume, normalisation, in, axis);
  const std::int64_t planes = in.shape.n.z;
  const auto task = [&](std::int64_t index, int) {
    const std::int64_t s = index / (planes * in.shape.f);
    reader.read(s, index / planes % in.shape.f, index % planes, starts[static_cast<std::size_t>(s)]);
  };
  const std::int64_t count = in.shape.S * in.shape.f * planes;
  if (elements(in.shape) >= min_shared_elements) return executor.parallel_for(count, task);
  for (std::int64_t index = 0; index < count; ++index) task(index, 0);
}

void read_windows(const VolumeView& volume, const Normalisation& normalisation, std::span<const Vec3> starts,
                  const TensorView& in, Executor& executor) {
  read_windows(WholeVolume(volume), normalisation, starts, in, executor);
}

std::optional<TensorView> window_in_place(const PlaneSource& volume, const Normalisation& normalisation, Vec3 start,
                                          Vec3 n) {
  const VolumeShape& shape = volume.shape();
  const bool is_inside = covers(start, {}) && covers(shape.n, start + n);
  if (shape.type != ElementType::f32 || normalisation != Normalisation{} || !is_inside) return std::nullopt;
  const std::optional<Strides> strides = even_strides(volume, start.z, n.z);
  const std::byte* const first = volume.plane(0, start.z);
  if (!strides || reinterpret_cast<std::uintptr_t>(first) % alignof(float) != 0) return std::nullopt;
  auto* const data = const_cast<float*>(reinterpret_cast<const float*>(first));
  return TensorView{data + start.y * strides->y + start.x, {1, shape.f, n}, {}, *strides};
}

}  // namespace znni
