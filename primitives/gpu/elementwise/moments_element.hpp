// What is made of all voxels of a channel, in three steps. Blocks of threads add up parts of channels; a block adds up
// the parts of a group of channels; a last pass makes the output of that. Normalisations (NormProblem) and poolings of
// all voxels (GlobalPoolProblem) differ in what they add and in the factors that follow. Sums are in double, and each
// order is fixed, so that every run has the same bits.
#pragma once

#include "primitives/gpu/activate.hpp"
#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

inline constexpr int moments_threads = 256;
inline constexpr Index max_moments_blocks = (Index{1} << 31) - 1;  // of a grid

// A sum and a sum of squares, or the largest value. No initial values, so that shared memory may hold it.
struct Moments {
  double values;
  double squares;
};

// A mean needs no sum of squares, which costs little beside its reads.
enum class Joining : int { largest, sums };

constexpr Moments no_moments(Joining joining) {
  return {joining == Joining::largest ? static_cast<double>(float_of(0xff800000U)) : 0.0, 0.0};
}
constexpr Moments moments_of(float value) {
  const auto exact = static_cast<double>(value);
  return {exact, exact * exact};
}
// A NaN stays the largest.
constexpr Moments joined(Joining joining, const Moments& a, const Moments& b) {
  if (joining == Joining::sums) return {a.values + b.values, a.squares + b.squares};
  return {b.values > a.values || b.values != b.values ? b.values : a.values, 0.0};
}

// Parts of channels: some rows (z, y) of voxels of `lanes` channels for each block.
struct MomentsArg {
  Index S = 1;
  Index channels = 1;
  Extent n;
  Steps in;
  Index rows = 1;  // of a part
  Index parts = 1;
  int lanes = 1;    // neighbouring channels of a block
  int x_lanes = 1;  // its voxels along x; powers of two, whose product divides the threads
  Joining joining = Joining::sums;
};

constexpr Index moments_tiles(const MomentsArg& arg) { return ceil_div(arg.channels, arg.lanes); }
constexpr Index moments_blocks(const MomentsArg& arg) { return arg.S * moments_tiles(arg) * arg.parts; }

struct MomentsBlock {
  Index s = 0;
  Index channel = 0;  // the first
  Index part = 0;
};
constexpr MomentsBlock moments_block(const MomentsArg& arg, Index index) {
  const Index tiles = moments_tiles(arg);
  const Index tile = index / arg.parts % tiles;
  return {index / arg.parts / tiles, tile * arg.lanes, index % arg.parts};
}

// Adds up the voxels of one thread: every so many along x and of the part's rows.
template <class T>
constexpr Moments moments_of_thread(const MomentsArg& arg, const MomentsBlock& block, int thread, const T* in) {
  const Index channel = block.channel + thread % arg.lanes;
  const int beside = arg.lanes * arg.x_lanes;
  Moments own = no_moments(arg.joining);
  if (channel >= arg.channels) return own;
  const Index all = arg.n.z * arg.n.y;
  const Index end = (block.part + 1) * arg.rows < all ? (block.part + 1) * arg.rows : all;
  for (Index row = block.part * arg.rows + thread / beside; row < end; row += moments_threads / beside) {
    const T* const from =
        in + block.s * arg.in.S + channel * arg.in.f + row / arg.n.y * arg.in.z + row % arg.n.y * arg.in.y;
    for (Index x = thread / arg.lanes % arg.x_lanes; x < arg.n.x; x += arg.x_lanes) {
      own = joined(arg.joining, own, moments_of(widen(from[x * arg.in.x])));
    }
  }
  return own;
}

// Returns where the part of a channel stands: [S][channels][parts].
constexpr Index moments_place(const MomentsArg& arg, const MomentsBlock& block, int lane) {
  return ((block.s * arg.channels + block.channel + lane) * arg.parts) + block.part;
}

// The number that is subtracted from a channel, the factor of the rest, and the number that is added.
struct ChannelFactors {
  float mean = 0.0F;
  float scale = 0.0F;
  float shift = 0.0F;
};

// A block for each group of neighbouring channels of an input.
struct GroupsArg {
  Index S = 1;
  Index channels = 1;
  Index groups = 1;    // divides channels
  Index parts = 1;     // of a channel
  double count = 1.0;  // voxels of a group
  double epsilon = 0.0;
  Joining joining = Joining::sums;
  const float* scale = nullptr;  // device memory, one float per channel; null: a pooling
  const float* shift = nullptr;
};

constexpr Moments moments_of_group(const GroupsArg& arg, Index group, int thread, const Moments* parts) {
  const Index count = arg.channels / arg.groups * arg.parts;
  Moments own = no_moments(arg.joining);
  for (Index i = thread; i < count; i += moments_threads) own = joined(arg.joining, own, parts[group * count + i]);
  return own;
}

// Makes the factors of one channel of a group of which `total` was added up.
template <class Math>
constexpr ChannelFactors factors_of(const GroupsArg& arg, Index channel, const Moments& total) {
  if (arg.scale == nullptr) {
    const double pooled = arg.joining == Joining::largest ? total.values : total.values / arg.count;
    return {0.0F, 0.0F, static_cast<float>(pooled)};
  }
  const double mean = total.values / arg.count;
  const double spread = total.squares / arg.count - mean * mean;
  const double inverse = 1.0 / Math::sqrt((spread > 0.0 ? spread : 0.0) + arg.epsilon);
  return {static_cast<float>(mean), static_cast<float>(static_cast<double>(arg.scale[channel]) * inverse),
          arg.shift[channel]};
}

// The last pass: out = activation(scale (in - mean) + shift), of which a pooling has the shift alone.
struct FactorsArg {
  RowShape rows;
  bool planar = true;
  int width = 1;  // elements per vector
  RowSteps in_steps;
  RowSteps out_steps;
  const void* in = nullptr;  // null: a pooling
  void* out = nullptr;
  const ChannelFactors* factors = nullptr;  // [S][channels]
  Index channels = 1;
  Act act = Act::none;
  float alpha = 0.0F;
};

// Computes element `element` of row `row`.
template <class Math, class T, int width>
constexpr void factors_element(const FactorsArg& arg, const Row& row, int element) {
  const int slow = element / arg.rows.fast;
  const int fast = element % arg.rows.fast;
  const ChannelFactors* const own =
      arg.factors + row.s * arg.channels + (arg.planar ? row.channel : static_cast<Index>(fast) * width);
  Lanes<T, width> value = {};
  if (arg.in != nullptr) {
    const auto* const from = static_cast<const Lanes<T, width>*>(arg.in);
    value = from[offset_of(arg.in_steps, row) + element_offset(arg.in_steps, slow, fast)];
  }
  for (int w = 0; w < width; ++w) {
    const ChannelFactors& of = own[arg.planar ? 0 : w];
    const float rest = arg.in != nullptr ? of.scale * (widen(value.lane[w]) - of.mean) : 0.0F;
    value.lane[w] = narrow(activate<Math>(arg.act, arg.alpha, rest + of.shift), T());
  }
  static_cast<Lanes<T, width>*>(arg.out)[offset_of(arg.out_steps, row) + element_offset(arg.out_steps, slow, fast)] =
      value;
}

}  // namespace znni::cuda
