#include "server/pipeline/schedule/outside.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "planner/network/reading.hpp"
#include "primitives/core/index.hpp"
#include "server/pipeline/schedule/outside_fills.hpp"

namespace znni {
namespace {

// Voxels [first, last) of a view are inside.
struct Inside {
  Vec3 first;
  Vec3 last;
};
Inside inside_of(Vec3 start, Vec3 n, const Border& border, Vec3 whole) {
  const Vec3 zero{};
  const Vec3 first = min(max(border.begin - start, zero), n);
  return {first, max(min(whole - border.end - start, n), first)};
}

bool is_empty(const Inside& inside) { return !covers(inside.last, inside.first + Vec3::cube(1)); }

// The channels that lie side by side in a voxel, and how often such a tensor stands in a view.
struct Groups {
  std::int64_t count = 1;
  std::int64_t distance = 0;
  std::int64_t voxel = 1;  // floats from a voxel to the next
};
Groups groups_of(const TensorView& view) {
  if (view.format.layout == Layout::channels_last) return {1, 0, view.strides.x};
  const std::int64_t width = block_width(view.format.layout);
  return {div_up(view.shape.f, width), view.strides.f, width};
}

class Outside {
 public:
  Outside(const TensorView& view, float value) : view_(view), groups_(groups_of(view)), value_(value) {}

  // Fills plane z of all channels of input s.
  void fill_plane(std::int64_t s, std::int64_t z, const Inside& inside) const {
    for (std::int64_t group = 0; group < groups_.count; ++group) {
      float* const plane = view_.data + s * view_.strides.S + group * groups_.distance + z * view_.strides.z;
      const bool crossed = inside.first.z <= z && z < inside.last.z;
      for (std::int64_t y = 0; y < view_.shape.n.y; ++y) {
        const bool has_inside = crossed && inside.first.y <= y && y < inside.last.y;
        const std::int64_t first = has_inside ? inside.first.x : 0;
        const std::int64_t last = has_inside ? inside.last.x : 0;
        fill(plane + y * view_.strides.y, 0, first);
        fill(plane + y * view_.strides.y, last, view_.shape.n.x);
      }
    }
  }

 private:
  void fill(float* row, std::int64_t first, std::int64_t last) const {
    std::fill(row + first * groups_.voxel, row + last * groups_.voxel, value_);
  }

  const TensorView& view_;
  Groups groups_;
  float value_;
};

// Repeats the voxels at the border of what is inside. Those that are inside are read alone.
class Edges {
 public:
  explicit Edges(const TensorView& view) : view_(view), groups_(groups_of(view)) {}

  // Makes plane `to` of all channels of input s equal to plane `from`.
  void repeat_plane(std::int64_t s, std::int64_t from, std::int64_t to) const {
    for (std::int64_t group = 0; group < groups_.count; ++group) {
      float* const group_data = view_.data + s * view_.strides.S + group * groups_.distance;
      for (std::int64_t y = 0; y < view_.shape.n.y; ++y) {
        const float* const row = group_data + from * view_.strides.z + y * view_.strides.y;
        std::copy_n(row, view_.shape.n.x * groups_.voxel, group_data + to * view_.strides.z + y * view_.strides.y);
      }
    }
  }

  // Fills plane z of all channels of input s.
  void fill_plane(std::int64_t s, std::int64_t z, const Inside& inside) const {
    const std::int64_t from_z = std::clamp(z, inside.first.z, inside.last.z - 1);
    for (std::int64_t group = 0; group < groups_.count; ++group) {
      float* const group_data = view_.data + s * view_.strides.S + group * groups_.distance;
      for (std::int64_t y = 0; y < view_.shape.n.y; ++y) {
        const std::int64_t from_y = std::clamp(y, inside.first.y, inside.last.y - 1);
        fill_row(group_data + from_z * view_.strides.z + from_y * view_.strides.y,
                 group_data + z * view_.strides.z + y * view_.strides.y, inside);
      }
    }
  }

 private:
  void fill_row(const float* from, float* to, const Inside& inside) const {
    const std::int64_t first = inside.first.x * groups_.voxel;
    const std::int64_t last = inside.last.x * groups_.voxel;
    if (from != to) std::copy(from + first, from + last, to + first);
    for (std::int64_t x = 0; x < inside.first.x; ++x) std::copy_n(from + first, groups_.voxel, to + x * groups_.voxel);
    for (std::int64_t x = inside.last.x; x < view_.shape.n.x; ++x) {
      std::copy_n(from + last - groups_.voxel, groups_.voxel, to + x * groups_.voxel);
    }
  }

  const TensorView& view_;
  Groups groups_;
};

// Says which voxels lie inside along one axis of a view: [first, last) of all, of which those of the view are
// [seen_first, seen_last).
struct Reflector {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t seen_first = 0;
  std::int64_t seen_last = 0;

  // Returns the voxel that stands at place v, v itself if that is inside; -1 if it is not in the view.
  [[nodiscard]] std::int64_t source_of(std::int64_t v) const {
    if (v < first) v = 2 * first - v;
    if (v >= last) v = 2 * (last - 1) - v;
    return seen_first <= v && v < seen_last ? v : -1;
  }
};

// Reflects the voxels that are inside. Those are read alone.
class Reflections {
 public:
  // Reflects voxels of `view`. `first`, `last`: the inside of the whole value, counted from the view's first voxel.
  Reflections(const TensorView& view, Vec3 first, Vec3 last, const Inside& inside)
      : view_(view), groups_(groups_of(view)) {
    for (int axis = 0; axis < 3; ++axis) {
      reflectors_[static_cast<std::size_t>(axis)] = {first[axis], last[axis], inside.first[axis], inside.last[axis]};
    }
  }

  // Fills plane z of all channels of input s; returns false if it is a copy of none in the view.
  [[nodiscard]] bool fill_plane(std::int64_t s, std::int64_t z) const {
    const std::int64_t from_z = reflectors_[0].source_of(z);
    if (from_z < 0) return false;
    for (std::int64_t group = 0; group < groups_.count; ++group) {
      float* const group_data = view_.data + s * view_.strides.S + group * groups_.distance;
      for (std::int64_t y = 0; y < view_.shape.n.y; ++y) {
        const std::int64_t from_y = reflectors_[1].source_of(y);
        const float* const from =
            from_y < 0 ? nullptr : group_data + from_z * view_.strides.z + from_y * view_.strides.y;
        fill_row(from, group_data + z * view_.strides.z + y * view_.strides.y);
      }
    }
    return true;
  }

 private:
  // Makes row `to` a copy of row `from`; zeros if that is null.
  void fill_row(const float* from, float* to) const {
    const std::int64_t n = view_.shape.n.x;
    if (from == nullptr) {
      std::fill_n(to, n * groups_.voxel, 0.0F);
      return;
    }
    const Reflector& along = reflectors_[2];
    const std::int64_t first = along.seen_first * groups_.voxel;
    if (from != to) std::copy_n(from + first, along.seen_last * groups_.voxel - first, to + first);
    for (std::int64_t x = 0; x < along.seen_first; ++x) fill_voxel(from, to, x);
    for (std::int64_t x = along.seen_last; x < n; ++x) fill_voxel(from, to, x);
  }

  void fill_voxel(const float* from, float* to, std::int64_t x) const {
    const std::int64_t from_x = reflectors_[2].source_of(x);
    if (from_x < 0) {
      std::fill_n(to + x * groups_.voxel, groups_.voxel, 0.0F);
    } else {
      std::copy_n(from + from_x * groups_.voxel, groups_.voxel, to + x * groups_.voxel);
    }
  }

  const TensorView& view_;
  Groups groups_;
  std::array<Reflector, 3> reflectors_;
};

// Calls fill(s, inside) for every input of which some voxels are outside.
template <class Fill>
void for_each_crossed(const TensorView& view, std::span<const Vec3> starts, const Border& border, Vec3 whole,
                      const Fill& fill) {
  ensure(static_cast<std::int64_t>(starts.size()) == view.shape.S, "a start for every input of the tensor");
  ensure(view.format.type == ElementType::f32, "the CPU computes in float32");
  for (std::int64_t s = 0; s < view.shape.S; ++s) {
    const Inside inside = inside_of(starts[static_cast<std::size_t>(s)], view.shape.n, border, whole);
    if (inside.first != Vec3{} || inside.last != view.shape.n) fill(s, inside);
  }
}

// Returns where, along closed axes, the tensor of a value begins in its window of the framed volume.
Vec3 start_of_closed(const ClosedAxes& closed, int value) {
  if (closed.cuts.empty()) return {};
  return closed.cuts[index(value)].begin - margin_of(closed, value).begin;
}

}  // namespace

void fill_outside(const TensorView& view, std::span<const Vec3> starts, const Border& border, Vec3 whole, float value,
                  Executor& executor) {
  const Outside outside(view, value);
  for_each_crossed(view, starts, border, whole, [&](std::int64_t s, const Inside& inside) {
    executor.parallel_for(view.shape.n.z, [&](std::int64_t z, int) { outside.fill_plane(s, z, inside); });
  });
}

void fill_edges(const TensorView& view, std::span<const Vec3> starts, const Border& border, Vec3 whole,
                std::int64_t kept, Executor& executor) {
  const Edges edges(view);
  const Outside zeros(view, 0.0F);
  for_each_crossed(view, starts, border, whole, [&](std::int64_t s, const Inside& inside) {
    const bool is_behind = starts[static_cast<std::size_t>(s)].z >= whole.z - border.end.z;
    executor.parallel_for(view.shape.n.z, [&](std::int64_t z, int) {
      if (!is_empty(inside)) return edges.fill_plane(s, z, inside);
      if (kept == 0 || !is_behind) return zeros.fill_plane(s, z, {});
      if (z >= kept) edges.repeat_plane(s, kept - 1, z);
    });
  });
}

void fill_reflected(const TensorView& view, std::span<const Vec3> starts, const Border& border, Vec3 whole,
                    std::int64_t kept, Executor& executor) {
  const Outside zeros(view, 0.0F);
  for_each_crossed(view, starts, border, whole, [&](std::int64_t s, const Inside& inside) {
    const Vec3 start = starts[static_cast<std::size_t>(s)];
    const Reflections reflections(view, border.begin - start, whole - border.end - start, inside);
    executor.parallel_for(view.shape.n.z, [&](std::int64_t z, int) {
      if (!reflections.fill_plane(s, z) && z >= kept) zeros.fill_plane(s, z, {});
    });
  });
}

// Finds the place of a value. The newest planes of a step end where the input's do, less what the node's windows reach
// ahead.
ValuePlace::ValuePlace(const Network& network, const Geometry& geometry, int value)
    : reach_(reaches(network)[index(value)]) {
  const std::int64_t lag = geometry.choice.streamed ? reach_.fov.z - reach_.stride.z : 0;
  origin_ = Vec3{lag, 0, 0} + start_of_closed(geometry.closed, 0);
  closed_start_ = start_of_closed(geometry.closed, value);
}

std::vector<Vec3> ValuePlace::starts_in(const PatchPositions& at, std::int64_t earlier) const {
  std::vector<Vec3> starts;
  for (const Vec3& start : at.starts) {
    const Vec3 first = start - origin_;
    ensure(first % reach_.stride == Vec3{}, "patches begin where the strides of all values do");
    starts.push_back(first / reach_.stride + closed_start_ - Vec3{earlier, 0, 0});
  }
  return starts;
}

Vec3 ValuePlace::extent_in(Vec3 volume) const { return (volume - reach_.fov) / reach_.stride + Vec3::cube(1); }

// A place matters to padding alone. A network whose nodes pad computes no fragments.
StackPlace::StackPlace(const Network& network, const Geometry& geometry, int node) {
  const Node& own = network.nodes[index(node)];
  if (!std::holds_alternative<Stack>(own.operation) || reading_of(own.operation).padding == Border{}) return;
  const int value = own.inputs.front();
  is_told_ = true;
  value_ = ValuePlace(network, geometry, value);
  earlier_ = geometry.histories.kept[index(value)];
  begin_ = around_read(geometry, node, 0, value).begin;
  beyond_ = value == 0 ? network.frame : network.nodes[index(value - 1)].beyond;
}

void StackPlace::tell(const PatchPositions& at, PreparedLayer& layer) const {
  if (!is_told_) return;
  std::vector<Vec3> starts = value_.starts_in(at, earlier_);
  for (Vec3& start : starts) start = start + begin_ - beyond_.begin;
  layer.place(starts, at.starts.empty() ? Vec3{} : value_.extent_in(at.volume) - beyond_.begin - beyond_.end);
}

ValueOutside::ValueOutside(const Network& network, const Geometry& geometry, int node)
    : border_(network.nodes[index(node)].outside), kind_(network.nodes[index(node)].outside_kind) {
  if (!is_empty()) place_ = ValuePlace(network, geometry, node + 1);
}

void ValueOutside::fill(const TensorView& view, std::int64_t earlier, const PatchPositions& at,
                        Executor& executor) const {
  if (is_empty() || at.starts.empty()) return;
  const std::vector<Vec3> starts = place_.starts_in(at, earlier);
  const Vec3 whole = place_.extent_in(at.volume);
  if (kind_ == OutsideKind::edge) return fill_edges(view, starts, border_, whole, earlier, executor);
  if (kind_ == OutsideKind::reflect) return fill_reflected(view, starts, border_, whole, earlier, executor);
  const bool lowest = kind_ == OutsideKind::lowest;
  fill_outside(view, starts, border_, whole, lowest ? -std::numeric_limits<float>::infinity() : 0.0F, executor);
}

Result<void> ValueOutside::fill(const TensorView& view, std::int64_t earlier, const PatchPositions& at,
                                Accelerator& accelerator) const {
  if (is_empty() || at.starts.empty()) return {};
  const std::vector<OutsideFill> fills =
      outside_fills(view, place_.starts_in(at, earlier), border_, place_.extent_in(at.volume), kind_, earlier);
  for (const OutsideFill& each : fills) {
    if (Result<void> given = accelerator.fill_outside(Stream::compute, each); !given) return given;
  }
  return {};
}

}  // namespace znni
