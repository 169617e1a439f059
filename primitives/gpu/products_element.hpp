// The matrix products of a convolution by FFT, one per frequency, on matrix units (complex_mma.hpp). A block of threads
// computes some rows (tiles) and columns (output channels) of one product. Both factors go to shared memory, all f
// input channels of them where they fit, otherwise part by part. A warp reads fragments there, splits them in
// registers, and keeps its sums in registers, too.
//
// Here stands what each thread does between two barriers; kernels call it, and tests on the host, thread by thread.
#pragma once

#include "primitives/gpu/complex_mma.hpp"
#include "primitives/gpu/kernel_types.hpp"
#include "primitives/gpu/unrolled.hpp"

namespace znni::cuda {

// Warps of a block: two by two, each with `row_tiles` times 16 rows and `column_tiles` times 8 columns.
inline constexpr int product_warps = 2;
inline constexpr int product_threads = product_warps * product_warps * warp_lanes;
inline constexpr int max_row_tiles = 2;
inline constexpr int max_column_tiles = 5;
// What a block may have on all devices with units for TF32. On those of compute capability 9.0 two blocks have room.
inline constexpr int product_shared_bytes = 99 << 10;

struct ProductShape {
  int row_tiles = 1;
  int column_tiles = 1;
};
constexpr int rows_of(const ProductShape& shape) { return product_warps * mma_rows * shape.row_tiles; }
constexpr int columns_of(const ProductShape& shape) { return product_warps * mma_columns * shape.column_tiles; }

// Returns the count of tiles per warp, up to `most`, at which blocks take the least time for `length` rows or columns.
// A block takes as long as its tiles, and one for what it reads; it has `unit` rows or columns for each.
constexpr int best_tiles(Index length, int unit, int most) {
  int best = 1;
  for (int tiles = 2; tiles <= most; ++tiles) {
    const Index time = ceil_div(length, unit * tiles) * (tiles + 1);
    if (time <= ceil_div(length, unit * best) * (best + 1)) best = tiles;
  }
  return best;
}

constexpr ProductShape product_shape(Index tiles, Index f_out) {
  return {best_tiles(tiles, product_warps * mma_rows, max_row_tiles),
          best_tiles(f_out, product_warps * mma_columns, max_column_tiles)};
}

// Returns the distance of rows in shared memory: 64 bytes more or less than a multiple of 128, so that lanes of two
// rows read in different banks.
constexpr int product_pitch(int depth) { return depth % 16 == 0 ? depth + 8 : depth; }

struct ProductArg {
  Index f = 1;
  Index f_out = 1;
  Index tiles = 1;
  int depth = 8;  // input channels in shared memory at once, a multiple of 8
};

constexpr ProductArg product_arg(Index f, Index f_out, Index tiles) {
  const ProductShape shape = product_shape(tiles, f_out);
  const int row_bytes = (rows_of(shape) + columns_of(shape)) * static_cast<int>(sizeof(Complex));
  const int most = (product_shared_bytes / row_bytes - mma_depth) / (2 * mma_depth) * (2 * mma_depth);
  const int least_parts = static_cast<int>(ceil_div(f, most));
  const int depth = static_cast<int>(ceil_div(ceil_div(f, least_parts), mma_depth)) * mma_depth;
  return {f, f_out, tiles, depth};
}
constexpr int product_bytes(const ProductArg& arg, const ProductShape& shape) {
  return (rows_of(shape) + columns_of(shape)) * product_pitch(arg.depth) * static_cast<int>(sizeof(Complex));
}

// Returns the share of a product's multiplications that are for numbers that exist: warps take whole tiles.
constexpr double product_share(Index f, Index f_out, Index tiles) {
  const ProductShape shape = product_shape(tiles, f_out);
  const auto share = [](Index length, int unit) {
    return static_cast<double>(length) / static_cast<double>(ceil_div(length, unit) * unit);
  };
  return share(f, mma_depth) * share(f_out, mma_columns * shape.column_tiles) *
         share(tiles, mma_rows * shape.row_tiles);
}

// Returns the blocks of one product.
constexpr Index product_blocks(const ProductArg& arg, const ProductShape& shape) {
  return ceil_div(arg.tiles, rows_of(shape)) * ceil_div(arg.f_out, columns_of(shape));
}

// One block's part of one product; offsets are those of its first row or column.
struct ProductBlock {
  Index input = 0;   // element of the inputs
  Index kernel = 0;  // of the kernels
  Index output = 0;
  int rows = 0;  // that exist
  int columns = 0;
};

// Returns block `index`. Those of a product follow each other, so that what they share is in the cache.
constexpr ProductBlock product_block(const ProductArg& arg, const ProductShape& shape, Index index) {
  const Index groups = ceil_div(arg.tiles, rows_of(shape));
  const Index tile = index % groups * rows_of(shape);
  const Index rest = index / groups;
  const Index sections = ceil_div(arg.f_out, columns_of(shape));
  const Index channel = rest % sections * columns_of(shape);
  const Index frequency = rest / sections;
  const auto within = [](Index left, int most) { return left < most ? static_cast<int>(left) : most; };
  return {(frequency * arg.tiles + tile) * arg.f, (frequency * arg.f_out + channel) * arg.f,
          (frequency * arg.tiles + tile) * arg.f_out + channel, within(arg.tiles - tile, rows_of(shape)),
          within(arg.f_out - channel, columns_of(shape))};
}

// Two neighbours of a row: what a lane holds of eight.
struct alignas(16) ComplexPair {
  Complex v[2];
};

// Reads elements `at` and `at` + 1 of a row of `length`; what lies beyond it is zero. Rows of even length begin at
// multiples of 16 bytes.
constexpr ComplexPair pair_of_row(const Complex* row, Index at, Index length) {
  if (at + 1 < length && length % 2 == 0) return *reinterpret_cast<const ComplexPair*>(row + at);
  constexpr Complex zero{0.0F, 0.0F};
  return {{at < length ? row[at] : zero, at + 1 < length ? row[at + 1] : zero}};
}

// Eight threads move a row, each a pair of every sixteen numbers: 128 bytes at once.
inline constexpr int row_movers = 8;
inline constexpr int rows_at_once = product_threads / row_movers;

// Pairs that a thread moves at once, of all its rows: loads that wait for memory together.
template <int row_tiles, int column_tiles>
struct MovedPairs {
  static constexpr int left = product_warps * mma_rows * row_tiles / rows_at_once;
  static constexpr int right = product_warps * mma_columns * column_tiles / rows_at_once;
  ComplexPair v[left + right];
};

// Rows of numbers: [frequency][tile][f] and [frequency][f_out][f].
struct ProductFactors {
  const Complex* inputs = nullptr;
  const Complex* kernels = nullptr;
};

template <int row_tiles, int column_tiles>
constexpr MovedPairs<row_tiles, column_tiles> read_pairs(const ProductArg& arg, const ProductBlock& block, int thread,
                                                         Index at, const ProductFactors& from) {
  using Moved = MovedPairs<row_tiles, column_tiles>;
  constexpr ComplexPair zeros{{{0.0F, 0.0F}, {0.0F, 0.0F}}};
  Moved moved = {};
  unrolled<Moved::left>([&](auto i) {
    const int row = thread / row_movers + i * rows_at_once;
    moved.v[i] = row < block.rows ? pair_of_row(from.inputs + block.input + row * arg.f, at, arg.f) : zeros;
  });
  unrolled<Moved::right>([&](auto i) {
    const int row = thread / row_movers + i * rows_at_once;
    moved.v[Moved::left + i] =
        row < block.columns ? pair_of_row(from.kernels + block.kernel + row * arg.f, at, arg.f) : zeros;
  });
  return moved;
}

// Moves numbers [first, first + arg.depth) of all rows to shared memory: those of the inputs, then those of the
// kernels.
template <int row_tiles, int column_tiles>
constexpr void move_rows(const ProductArg& arg, const ProductBlock& block, int thread, Index first,
                         const ProductFactors& from, ComplexPair* shared) {
  using Moved = MovedPairs<row_tiles, column_tiles>;
  const int pitch = product_pitch(arg.depth) / 2;
  for (int pair = thread % row_movers; pair < arg.depth / 2; pair += row_movers) {
    const Moved moved = read_pairs<row_tiles, column_tiles>(arg, block, thread, first + 2 * pair, from);
    ComplexPair* const to = shared + thread / row_movers * pitch + pair;
    unrolled<Moved::left + Moved::right>([&](auto i) { to[i * rows_at_once * pitch] = moved.v[i]; });
  }
}

// Return the first row and column of a thread's warp, in its block.
constexpr int warp_row(int thread, int row_tiles) { return thread / warp_lanes / product_warps * mma_rows * row_tiles; }
constexpr int warp_column(int thread, int column_tiles) {
  return thread / warp_lanes % product_warps * mma_columns * column_tiles;
}

// Returns true if something that exists is left to the thread's warp.
template <int row_tiles, int column_tiles>
constexpr bool has_products(const ProductBlock& block, int thread) {
  return warp_row(thread, row_tiles) < block.rows && warp_column(thread, column_tiles) < block.columns;
}

// Read a fragment of step `step` of eight: of 16 rows of the inputs from `row` on, and of eight of the kernels.
constexpr LeftFragment read_left(const ComplexPair* shared, int pitch, int row, int step, int lane) {
  LeftFragment fragment = {};
  unrolled<2>([&](auto i) {
    const ComplexPair pair =
        shared[(row + left_row(lane, i)) * (pitch / 2) + (step * mma_depth + depth_of(left_column(lane, i))) / 2];
    put_split(fragment, i, pair.v[0]);
    put_split(fragment, i + 2, pair.v[1]);
  });
  return fragment;
}
constexpr RightFragment read_right(const ComplexPair* shared, int pitch, int row, int step, int lane) {
  RightFragment fragment = {};
  const ComplexPair pair =
      shared[(row + right_column(lane)) * (pitch / 2) + (step * mma_depth + depth_of(right_row(lane, 0))) / 2];
  put_split(fragment, 0, pair.v[0]);
  put_split(fragment, 1, pair.v[1]);
  return fragment;
}

// Sums of a lane.
template <int row_tiles, int column_tiles>
struct ProductSums {
  ProductFragment v[row_tiles][column_tiles];
};

// Writes what exists of a lane's sums in a row of one fragment: two neighbours.
constexpr void write_pair(const ProductArg& arg, Complex* to, int columns, const ComplexPair& pair) {
  if (columns > 1 && arg.f_out % 2 == 0) {
    *reinterpret_cast<ComplexPair*>(to) = pair;
    return;
  }
  if (columns > 0) to[0] = pair.v[0];
  if (columns > 1) to[1] = pair.v[1];
}

template <int row_tiles, int column_tiles>
constexpr void write_products(const ProductArg& arg, const ProductBlock& block, int thread,
                              const ProductSums<row_tiles, column_tiles>& sums, Complex* outputs) {
  const int lane = thread % warp_lanes;
  unrolled<row_tiles>([&](auto m) {
    unrolled<column_tiles>([&](auto n) {
      const ProductFragment& sum = sums.v[m][n];
      const int column = warp_column(thread, column_tiles) + n * mma_columns + product_column(lane, 0);
      unrolled<2>([&](auto half) {
        const int row = warp_row(thread, row_tiles) + m * mma_rows + product_row(lane, 2 * half);
        const ComplexPair pair = {
            {{sum.part[0][2 * half], sum.part[1][2 * half]}, {sum.part[0][2 * half + 1], sum.part[1][2 * half + 1]}}};
        Complex* const to = outputs + block.output + row * arg.f_out + column;
        if (row < block.rows) write_pair(arg, to, block.columns - column, pair);
      });
    });
  });
}

}  // namespace znni::cuda
