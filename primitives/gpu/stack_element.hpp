// Stacks of poolings and what follows them voxel by voxel, per element. A block makes a tile of the output: it loads
// what the tile depends on, and takes it through all links of the launch in its own memory. The window of a link goes
// along x, y and z, one after the other. Windows that no block's memory holds are read from the tensor, link by link.
#pragma once

#include "primitives/gpu/activate.hpp"
#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"
#include "primitives/gpu/pool_element.hpp"

namespace znni::cuda {

inline constexpr int max_stack_links = 8;
inline constexpr int max_stack_points = 6;
inline constexpr int max_stack_starts = 16;

// Scales and shifts a voxel by numbers of its channel, then activates it.
struct StackPoint {
  const float* scale = nullptr;  // null: ones, and no shift
  const float* shift = nullptr;
  Act act = Act::none;
  float alpha = 0.0F;
};

// Where the tensor of a value lies: its voxel 0 is voxel start + moved of a value of extent `whole` (StackProblem).
struct StackPlace {
  Extent n;
  Extent moved{0, 0, 0};
  Extent whole;
};

// A pooling and what is done to each voxel of it. Voxel v of what it writes pools the voxels from v - shift on.
struct StackLink {
  Extent window;
  Extent shift{0, 0, 0};
  bool average = false;
  float factor = 1.0F;
  StackPlace in;
  int points = 0;
  StackPoint point[max_stack_points];
};

struct StackArg {
  Index S = 1;
  Index f = 1;
  int links = 1;
  StackLink link[max_stack_links];
  StackPlace out;
  bool placed_alike = true;  // all inputs have starts[0]
  Extent starts[max_stack_starts];
  Extent tile;
  int channels = 1;  // of a tile
  int buffer = 0;    // floats of each of a block's two buffers; 0: one link, whose windows are read from the tensor
  Steps in_steps;    // in elements
  Steps out_steps;
};

constexpr Index along(Extent v, int axis) { return axis == 0 ? v.z : axis == 1 ? v.y : v.x; }
constexpr Extent moved_by(Extent v, Extent by, Index factor = 1) {
  return {v.z + factor * by.z, v.y + factor * by.y, v.x + factor * by.x};
}

// A range along an axis, `end` excluded.
struct StackRange {
  Index begin = 0;
  Index end = 0;
};

// Returns the voxels of a tensor that are own ones of its value.
constexpr StackRange own_range(const StackPlace& place, Extent start, int axis) {
  const Index first = along(start, axis) + along(place.moved, axis);
  const Index begin = first < 0 ? -first : 0;
  const Index end = along(place.whole, axis) - first;
  return {begin, end < along(place.n, axis) ? end : along(place.n, axis)};
}

// Returns the offsets of the window that begins at voxel `at` whose voxels are own ones; empty if there are none.
constexpr StackRange window_range(const StackLink& link, Extent start, int axis, Index at) {
  const StackRange own = own_range(link.in, start, axis);
  const Index window = along(link.window, axis);
  return {own.begin > at ? own.begin - at : 0, own.end - at < window ? own.end - at : window};
}

constexpr bool is_own(const StackPlace& place, Extent start, Extent at) {
  for (int axis = 0; axis < 3; ++axis) {
    const StackRange own = own_range(place, start, axis);
    if (along(at, axis) < own.begin || along(at, axis) >= own.end) return false;
  }
  return true;
}

// A part of a tensor.
struct StackRegion {
  Extent origin;  // its first voxel; before the tensor where there is padding
  Extent n;
};
constexpr StackRegion read_region(const StackLink& link, const StackRegion& written) {
  return {moved_by(written.origin, link.shift, -1), moved_by(moved_by(written.n, link.window), Extent{1, 1, 1}, -1)};
}
constexpr StackRegion written_region(const StackLink& link, const StackRegion& read) {
  return {moved_by(read.origin, link.shift), moved_by(moved_by(read.n, link.window, -1), Extent{1, 1, 1})};
}

// A part of the output that a block makes.
struct StackTile {
  Index s = 0;
  Index channel = 0;  // its first channel
  int channels = 1;
  StackRegion region;
};

constexpr Extent stack_tiles_along(const StackArg& arg) {
  return {ceil_div(arg.out.n.z, arg.tile.z), ceil_div(arg.out.n.y, arg.tile.y), ceil_div(arg.out.n.x, arg.tile.x)};
}
constexpr Index stack_tiles(const StackArg& arg) {
  return arg.S * ceil_div(arg.f, arg.channels) * voxels_of(stack_tiles_along(arg));
}

constexpr Index at_most(Index a, Index b) { return a < b ? a : b; }

// Returns tile `index`, x fastest.
constexpr StackTile stack_tile(const StackArg& arg, Index index) {
  const Extent tiles = stack_tiles_along(arg);
  const Index groups = ceil_div(arg.f, arg.channels);
  const Index channel = index / voxels_of(tiles);
  StackTile tile;
  tile.s = channel / groups;
  tile.channel = channel % groups * arg.channels;
  tile.channels = static_cast<int>(at_most(arg.channels, arg.f - tile.channel));
  const Extent origin = {index / (tiles.y * tiles.x) % tiles.z * arg.tile.z, index / tiles.x % tiles.y * arg.tile.y,
                         index % tiles.x * arg.tile.x};
  const Extent left = moved_by(arg.out.n, origin, -1);
  tile.region = {origin, {at_most(arg.tile.z, left.z), at_most(arg.tile.y, left.y), at_most(arg.tile.x, left.x)}};
  return tile;
}

constexpr Extent stack_start(const StackArg& arg, const StackTile& tile) {
  return arg.starts[arg.placed_alike ? 0 : tile.s];
}

// Returns the region that the first link reads for a tile.
constexpr StackRegion loaded_region(const StackArg& arg, const StackTile& tile) {
  StackRegion region = tile.region;
  for (int link = arg.links - 1; link >= 0; --link) region = read_region(arg.link[link], region);
  return region;
}

constexpr int region_elements(const StackTile& tile, Extent n) {
  return static_cast<int>(voxels_of(n)) * tile.channels;
}

// One element of a region in a block's memory, where channels lie beside each other and x is the next.
struct StackElement {
  int channel = 0;
  Extent at{0, 0, 0};  // within the region
};
constexpr StackElement stack_element(const StackTile& tile, Extent n, int element) {
  const int voxel = element / tile.channels;
  const int row = voxel / static_cast<int>(n.x);
  return {element % tile.channels,
          {row / static_cast<int>(n.y), row % static_cast<int>(n.y), voxel % static_cast<int>(n.x)}};
}

constexpr Index element_at(const StackTile& tile, const Steps& steps, const StackElement& element, Extent at) {
  return tile.s * steps.S + (tile.channel + element.channel) * steps.f + at.z * steps.z + at.y * steps.y +
         at.x * steps.x;
}

// Loads an element of the region that the first link reads: 0 where there is no own voxel.
template <class T>
constexpr void load_element(const StackArg& arg, const StackTile& tile, const StackRegion& region, int element,
                            const T* in, float* to) {
  const StackElement own = stack_element(tile, region.n, element);
  const Extent at = moved_by(region.origin, own.at);
  const bool is_inside = is_own(arg.link[0].in, stack_start(arg, tile), at);
  to[element] = is_inside ? widen(in[element_at(tile, arg.in_steps, own, at)]) : 0.0F;
}

constexpr float first_pooled(const StackLink& link) { return link.average ? 0.0F : float_of(0xff800000U); }
constexpr float pooled_with(const StackLink& link, float best, float value) {
  return link.average ? best + value : larger(best, value);
}

// Returns what follows the reduction of the window that begins at voxel `at`: 0 in place of a window of padding alone.
template <class Math>
constexpr float finished(const StackLink& link, Extent start, Extent at, Index channel, float value) {
  for (int axis = 0; axis < 3; ++axis) {
    const StackRange range = window_range(link, start, axis, along(at, axis));
    if (range.begin >= range.end) value = 0.0F;
  }
  value *= link.factor;
  for (int i = 0; i < link.points; ++i) {
    const StackPoint& point = link.point[i];
    if (point.scale != nullptr) value = point.scale[channel] * value + point.shift[channel];
    value = activate<Math>(point.act, point.alpha, value);
  }
  return value;
}

// Returns the extent of a region that is reduced along `axis` (and of those after it, in the order x, y, z).
constexpr Extent reduced(Extent n, const StackLink& link, int axis) {
  n.x -= link.window.x - 1;
  if (axis <= 1) n.y -= link.window.y - 1;
  if (axis == 0) n.z -= link.window.z - 1;
  return n;
}

// Returns true if a link has no pass along `axis`. It always has one along z, which ends it.
constexpr bool skips(const StackLink& link, int axis) { return axis != 0 && along(link.window, axis) == 1; }

// Reduces the windows along `axis` for element `element` of what that writes, where `region` is what the link reads.
// Along z, the last one, it ends the link.
template <class Math>
constexpr void reduce_element(const StackArg& arg, const StackTile& tile, const StackLink& link,
                              const StackRegion& region, int axis, int element, const float* from, float* to) {
  const Extent written = reduced(region.n, link, axis);
  const Extent read = axis == 2 ? region.n : reduced(region.n, link, axis + 1);
  const StackElement own = stack_element(tile, written, element);
  const Extent at = moved_by(region.origin, own.at);
  const Extent start = stack_start(arg, tile);
  const StackRange range = window_range(link, start, axis, along(at, axis));
  const Index step = tile.channels * (axis == 2 ? 1 : axis == 1 ? read.x : read.y * read.x);
  from += ((own.at.z * read.y + own.at.y) * read.x + own.at.x) * tile.channels + own.channel;
  float best = first_pooled(link);
  for (Index i = range.begin; i < range.end; ++i) best = pooled_with(link, best, from[i * step]);
  to[element] = axis == 0 ? finished<Math>(link, start, at, tile.channel + own.channel, best) : best;
}

// Writes element `element` of a tile: 0 where there is no own voxel.
template <class T>
constexpr void store_element(const StackArg& arg, const StackTile& tile, int element, float value, T* out) {
  const StackElement own = stack_element(tile, tile.region.n, element);
  const Extent at = moved_by(tile.region.origin, own.at);
  const bool is_inside = is_own(arg.out, stack_start(arg, tile), at);
  out[element_at(tile, arg.out_steps, own, at)] = narrow(is_inside ? value : 0.0F, T());
}

// Computes element `element` of a tile of one link from the tensor itself.
template <class Math, class T>
constexpr void direct_stack_element(const StackArg& arg, const StackTile& tile, int element, const T* in, T* out) {
  const StackLink& link = arg.link[0];
  const StackElement own = stack_element(tile, tile.region.n, element);
  const Extent at = moved_by(moved_by(tile.region.origin, own.at), link.shift, -1);
  const Extent start = stack_start(arg, tile);
  const StackRange z = window_range(link, start, 0, at.z);
  const StackRange y = window_range(link, start, 1, at.y);
  const StackRange x = window_range(link, start, 2, at.x);
  float best = first_pooled(link);
  for (Index k = z.begin; k < z.end; ++k) {
    for (Index j = y.begin; j < y.end; ++j) {
      const Index row = element_at(tile, arg.in_steps, own, {at.z + k, at.y + j, at.x});
      for (Index i = x.begin; i < x.end; ++i) best = pooled_with(link, best, widen(in[row + i * arg.in_steps.x]));
    }
  }
  store_element(arg, tile, element, finished<Math>(link, start, at, tile.channel + own.channel, best), out);
}

}  // namespace znni::cuda
