// The parts of a tiled FFT convolution that depend on the instruction set: a table of functions for each, chosen at run
// time. Each function is one task: it runs on one worker and writes memory that no other task writes.
#pragma once

#include <cstdint>
#include <string_view>

#include "primitives/cpu/fft_tiled/codelet.hpp"
#include "primitives/cpu/fft_tiled/tiling.hpp"

namespace znni::cpu::fft_tiled {

// One plane of neighbouring stacks of a batch, with all channels: windows of the input -> 2D spectra.
struct ForwardTask {
  const Tiling* tiling = nullptr;
  const TensorView* in = nullptr;
  std::int64_t first_stack = 0;  // of the layer
  std::int64_t stacks = 1;
  std::int64_t z = 0;        // plane; at or beyond the input's end it is zero
  float* spectra = nullptr;  // column 0, block 0 of this plane and the first stack
  float* scratch = nullptr;  // forward_scratch() floats
  Vec3 border = {};          // zeros before the first voxel of `in`, which are part of the tiling's input
  bool past_caches = true;   // false if the caller reads the spectra at once
};

// Number of real products per complex product: Gauss's three, which need sums of the parts, or the definition's four.
enum class Products { three, four };

// One column of a batch: transform along z, product with the kernel spectra, inverse along z; in place.
struct ColumnTask {
  const Tiling* tiling = nullptr;
  std::int64_t stacks = 0;         // of this batch
  float* column = nullptr;         // all planes
  const float* kernels = nullptr;  // of this column, kernel_column_floats()
  float* scratch = nullptr;        // column_scratch() floats
  Products products = Products::three;
};

// One output plane of neighbouring stacks of a batch: 2D spectra -> voxels, bias, residual and activation.
struct InverseTask {
  const Tiling* tiling = nullptr;
  const TensorView* out = nullptr;
  const TensorView* residual = nullptr;  // in the format of `out`; null if nothing is added
  const float* bias = nullptr;           // bias_floats(), zero in padding lanes
  std::int64_t first_stack = 0;          // of the layer
  std::int64_t stacks = 1;
  std::int64_t z = 0;
  const float* spectra = nullptr;  // column 0, block 0 of this plane and the first stack
  float* scratch = nullptr;        // inverse_scratch() floats
};

// Spectra of the kernels from one input channel to one block of output channels; or from 4 input channels to a packed
// unit, whose number is counted on from the blocks.
struct SpectraTask {
  const Tiling* tiling = nullptr;
  const float* kernels = nullptr;  // [f_out][f][k], as in LayerWeights
  std::int64_t channel = 0;        // the first
  std::int64_t block = 0;
  float* spectra = nullptr;  // of the whole layer: columns() x kernel_column_floats()
  float* scratch = nullptr;  // spectra_scratch() floats
};

// One tile with all its channels, from voxels to voxels in the worker's own cache. Planes are transformed, but z is
// not: taps along z are used directly. T.z is the number of planes that the tile reads.
struct TileTask {
  const Tiling* tiling = nullptr;
  const TensorView* in = nullptr;  // planar
  const TensorView* out = nullptr;
  const TensorView* residual = nullptr;  // as in InverseTask
  const float* spectra = nullptr;        // of all planes of taps: plane_spectra_floats()
  const float* bias = nullptr;           // [out_blocks][lanes], zero in padding lanes
  Stack stack;
  std::int64_t z = 0;        // its first plane, in the input and in the output
  float* scratch = nullptr;  // tile_scratch() floats, for the planes that its tasks compute together
};

// Neighbouring planes of one block of channels of a tile whose forward task has run. The caller reads the result at
// once, so it is written without bias and activation and with ordinary stores.
struct BlockTask {
  const TileTask* tile = nullptr;   // its out, residual and bias are not used
  const TensorView* out = nullptr;  // one block, from the tile's first row and voxel and from plane `first` on; only
                                    // the needed rows, with room for T.x voxels each
  std::int64_t block = 0;
  std::int64_t first = 0;  // first plane, counted from the tile's first
  std::int64_t planes = 1;
};

// Maximum number of output channels of the narrow direct algorithm.
inline constexpr std::int64_t max_narrow_outputs = 4;

// Some rows of one output plane, with all channels, by the direct algorithm. A narrow one has a tap for all channels of
// a block of the input, and a bias.
struct RowsTask {
  const Tiling* tiling = nullptr;  // problem and lanes are used
  const TensorView* in = nullptr;  // planar or blocked, rows without gaps
  const TensorView* out = nullptr;
  const TensorView* residual = nullptr;  // as in InverseTask
  const std::int64_t* taps = nullptr;    // offset of each tap's voxel from that of the first tap
  std::int64_t tap_count = 0;
  const float* weights = nullptr;  // [out_blocks][tap][lane]; narrow: [tap][output][lane], lanes of the input
  const float* bias = nullptr;     // [out_blocks][lanes], zero in padding lanes; null: raw sums go to a blocked `out`
  std::int64_t s = 0;
  std::int64_t z = 0;
  std::int64_t first_row = 0;
  std::int64_t end_row = 0;
  float* scratch = nullptr;  // rows_scratch() floats
};

struct TileKernels {
  std::int64_t lanes = 16;        // channels of a block
  std::int64_t gemm_rows = 8;     // rows of a register block
  std::int64_t gemm_vectors = 3;  // maximum number of output blocks that are computed together
  bool packs = false;             // there are forms for packed units
  void (*forward)(const ForwardTask&) = nullptr;
  void (*column)(const ColumnTask&) = nullptr;
  void (*inverse)(const InverseTask&) = nullptr;
  void (*spectra)(const SpectraTask&) = nullptr;
  void (*tile)(const TileTask&) = nullptr;
  void (*tile_forward)(const TileTask&) = nullptr;  // computes spectra of a tile's planes, which stay in its scratch
  void (*tile_block)(const BlockTask&) = nullptr;
  void (*plane_spectra)(const SpectraTask&) = nullptr;  // computes all planes of taps, for tiles
  void (*rows)(const RowsTask&) = nullptr;
  void (*narrow_rows)(const RowsTask&) = nullptr;  // up to max_narrow_outputs channels of a blocked input
};

// Returns the table for registers of `simd_floats` floats; nullptr if this build has none. The table for 4 floats uses
// blocks of 8 channels.
[[nodiscard]] const TileKernels* tile_kernels(int simd_floats);

// Returns the error of a primitive that needs a table if there is none.
[[nodiscard]] Error no_tile_kernels(std::string_view primitive, int simd_floats);

// A group of output blocks that are multiplied together. Groups have at most gemm_vectors blocks and are as equal as
// possible. The kernel spectra of a frequency lie [group][input channel][block in group][re | im][lane].
struct BlockGroup {
  std::int64_t first = 0;
  std::int64_t blocks = 0;
};
constexpr std::int64_t group_count(std::int64_t blocks, std::int64_t most) { return (blocks + most - 1) / most; }
constexpr BlockGroup block_group(std::int64_t blocks, std::int64_t most, std::int64_t index) {
  const std::int64_t groups = group_count(blocks, most);
  const std::int64_t each = blocks / groups;
  const std::int64_t longer = blocks % groups;  // number of groups with one block more, which come first
  return {index * each + (index < longer ? index : longer), each + (index < longer ? 1 : 0)};
}

// Returns the index of (input channel, output block) among the pairs of one frequency.
[[nodiscard]] std::int64_t block_index(const Tiling& t, std::int64_t block, std::int64_t most, std::int64_t channel);

// Returns the floats of the bias: zeros in padding lanes.
[[nodiscard]] inline std::int64_t bias_floats(const Tiling& t) { return round_up(t.problem.f_out, t.lanes); }

// Returns the blocks of 4 input channels x 4 lanes that hold the kernels to one packed unit.
[[nodiscard]] __attribute__((always_inline)) inline std::int64_t unit_kernels(const Tiling& t) {
  return div_up(t.problem.in.f, unit_lanes);
}
// Returns the tasks that compute all spectra of kernels, and one of them.
[[nodiscard]] inline std::int64_t spectra_tasks(const Tiling& t) {
  return t.problem.in.f * t.out_blocks() + t.out_units() * unit_kernels(t);
}
struct KernelsOf {
  std::int64_t channel = 0;
  std::int64_t block = 0;
};
[[nodiscard]] KernelsOf spectra_task(const Tiling& t, std::int64_t index);

// Return sizes in floats. Those that grow with f f_out saturate. Kernels to packed units lie behind all others, [unit][
// input channel / 4][re | im][input channel % 4][lane].
[[nodiscard]] __attribute__((always_inline)) inline std::int64_t kernel_frequency_floats(const Tiling& t) {
  return add(mul(t.problem.in.f, t.out_blocks() * t.block_step()),
             t.packs ? mul(t.out_units() * unit_kernels(t), t.block_step()) : 0);
}
[[nodiscard]] inline std::int64_t kernel_column_floats(const Tiling& t) {
  return mul(t.T.z, kernel_frequency_floats(t));
}
// Blocks of channels whose plane transforms are held at once.
inline constexpr std::int64_t blocks_at_once = 5;
// Returns the number of stacks that a task takes together. It is more than one if a stack has few blocks, so that they
// have up to blocks_at_once in all.
constexpr std::int64_t stacks_at_once(std::int64_t blocks) {
  return blocks < blocks_at_once ? blocks_at_once / blocks : 1;
}
// Returns the floats of a row of a plane's spectra along x. The number of blocks is odd, so that rows do not map to the
// same cache sets.
[[nodiscard]] inline std::int64_t row_floats(const Tiling& t) { return ((t.T.x / 2 + 1) / 2 * 2 + 1) * t.block_step(); }
[[nodiscard]] inline std::int64_t plane_floats(const Tiling& t) { return t.T.y * row_floats(t); }
constexpr std::int64_t transforms_at_once(std::int64_t blocks, std::int64_t stacks_per_batch) {
  const std::int64_t stacks = stacks_at_once(blocks) < stacks_per_batch ? stacks_at_once(blocks) : stacks_per_batch;
  return blocks * stacks < blocks_at_once ? blocks * stacks : blocks_at_once;
}
// Returns the stacks that a task takes together if they have these channels: a group, where units are packed.
constexpr std::int64_t stacks_at_once(const Tiling& t, std::int64_t blocks) {
  return t.packs ? t.group() : stacks_at_once(blocks);
}
// Returns the transforms that are held at once for tasks of a group.
constexpr std::int64_t transforms_of_group(ChannelSplit split, std::int64_t group) {
  const std::int64_t own = split.blocks * group < blocks_at_once ? split.blocks * group : blocks_at_once;
  return own > split.units ? own : split.units;
}
// Packed units of a group are transformed together, with a line each, and one for the voxels of a stack.
constexpr std::int64_t transform_floats(std::int64_t transforms, std::int64_t plane, std::int64_t line,
                                        std::int64_t units) {
  return transforms * plane + (1 + units) * line;
}
[[nodiscard]] __attribute__((always_inline)) inline std::int64_t channels_scratch(const Tiling& t, ChannelSplit split) {
  const std::int64_t transforms =
      t.packs ? transforms_of_group(split, t.group()) : transforms_at_once(split.blocks, t.stacks_per_batch);
  return transform_floats(transforms, plane_floats(t), t.T.x * t.lanes, split.units);
}
[[nodiscard]] __attribute__((always_inline)) inline std::int64_t forward_scratch(const Tiling& t) {
  return channels_scratch(t, split_channels(t.problem.in.f, t.lanes, t.packs));
}
[[nodiscard]] __attribute__((always_inline)) inline std::int64_t inverse_scratch(const Tiling& t) {
  return channels_scratch(t, split_channels(t.problem.f_out, t.lanes, t.packs));
}
// Returns the rows of a column's matrix products: an even number that holds all tiles, plus one, so that frequencies do
// not map to the same cache sets.
constexpr std::int64_t column_rows(std::int64_t tiles_per_batch) { return (tiles_per_batch + 1) / 2 * 2 + 1; }
[[nodiscard]] inline std::int64_t column_rows(const Tiling& t) {
  return column_rows(round_up(t.stacks_per_batch, t.group()) * t.tiles().z);
}
// Returns the floats of one frequency of a column with packed units: all rows, and behind them [tile][group][unit]. The
// number of blocks is odd.
__attribute__((always_inline)) constexpr std::int64_t packed_frequency_floats(std::int64_t rows, std::int64_t group,
                                                                              std::int64_t stack_step,
                                                                              std::int64_t group_step,
                                                                              std::int64_t block_step) {
  const std::int64_t blocks = add(mul(rows, stack_step), mul(rows / group, group_step)) / block_step;
  return mul(blocks / 2 * 2 + 1, block_step);
}
[[nodiscard]] __attribute__((always_inline)) inline std::int64_t frequency_floats(const Tiling& t) {
  const std::int64_t rows = column_rows(t);
  if (!t.packs) return mul(rows, t.stack_step());
  return packed_frequency_floats(rows, t.group(), t.stack_step(), t.group_step(), t.block_step());
}
// Most groups whose operands are copied together, where units are packed.
inline constexpr int groups_at_once = 8;
// Returns the floats for the rows of one register block; for three products also for the planes of one frequency's
// kernels.
[[nodiscard]] std::int64_t product_scratch(const Tiling& t, const TileKernels& kernels, Products products);
// Returns the floats for the spectra of all tiles and for their products.
[[nodiscard]] inline std::int64_t column_scratch(const Tiling& t, const TileKernels& kernels, Products products) {
  return add(mul(t.T.z, frequency_floats(t)), product_scratch(t, kernels, products));
}
[[nodiscard]] inline std::int64_t spectra_scratch(const Tiling& t) {
  return plane_floats(t) + t.problem.k.z * t.columns() * t.block_step() + t.T.x * t.lanes +
         (t.T.z + t.T.y) * t.block_step();
}

// Return the sizes in floats for a tile whose z axis is not transformed. Spectra of planes of taps lie
// [block][column][channel][tap][re | im][lane]. Spectra of the input's planes lie [column][channel][re | im | re +
// im][plane].
[[nodiscard]] inline std::int64_t column_taps_floats(const Tiling& t) {
  return t.problem.in.f * t.problem.k.z * t.block_step();
}
[[nodiscard]] inline std::int64_t plane_spectra_floats(const Tiling& t) {
  return mul(t.out_blocks(), mul(t.columns(), column_taps_floats(t)));
}
[[nodiscard]] inline std::int64_t padded_planes(const Tiling& t) { return round_up(t.T.z, t.lanes); }
[[nodiscard]] inline std::int64_t column_planes_floats(const Tiling& t) {
  return t.problem.in.f * 3 * padded_planes(t);
}
// Maximum number of planes that are multiplied together. Scratch holds their products for one kx, their spectra and a
// line of voxels.
inline constexpr std::int64_t max_planes_at_once = 4;
constexpr std::int64_t planes_at_once(std::int64_t gemm_rows) {
  return gemm_rows / 2 < max_planes_at_once ? gemm_rows / 2 : max_planes_at_once;
}
// Returns the maximum number of planes that a block's task multiplies together: one more, if the registers hold it.
constexpr std::int64_t max_planes_of_block(std::int64_t gemm_rows) {
  return planes_at_once(gemm_rows) + (gemm_rows > 6 ? 1 : 0);
}
[[nodiscard]] inline std::int64_t products_floats(const Tiling& t) { return t.T.y * t.block_step(); }
[[nodiscard]] inline std::int64_t tile_scratch(const Tiling& t, std::int64_t planes = max_planes_at_once) {
  return t.columns() * column_planes_floats(t) + planes * (products_floats(t) + plane_floats(t)) + t.T.x * t.lanes;
}

// Voxels that the direct algorithm computes before it writes them.
inline constexpr std::int64_t voxels_at_once = 32;
[[nodiscard]] inline std::int64_t rows_scratch(const Tiling& t) { return voxels_at_once * t.lanes; }

}  // namespace znni::cpu::fft_tiled
