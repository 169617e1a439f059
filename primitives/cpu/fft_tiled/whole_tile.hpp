// A convolution of few channels, tile by tile in the worker's own cache. It first computes spectra of the input's
// planes, with planes as lanes. Then, for each block of output channels (now the lanes), it sums over the taps along z
// and transforms back. Only voxels reach memory. With few input channels a product is limited by loading its operands,
// in either form. So z is left untransformed: that costs k.z products, and a transform would cost at least as much.
#pragma once

#include "primitives/cpu/fft_tiled/kernel_spectra.hpp"
#include "primitives/cpu/fft_tiled/plane_transforms.hpp"

namespace znni::cpu::fft_tiled {

// Computes spectra scaled and conjugated as in kernel_spectra(), but of single planes.
template <class Isa>
void plane_spectra(const SpectraTask& task) {
  const Tiling& t = *task.tiling;
  const std::int64_t pair = t.block_step();
  float* const columns = task.scratch + plane_floats(t);
  float* const line = columns + t.columns() * pair;
  float* const zero_padded = line + t.T.x * Isa::lanes;
  const float voxels_of_plane = static_cast<float>(t.T.y * t.T.x);
  float* to = task.spectra + (task.block * t.columns() * t.problem.in.f + task.channel) * t.problem.k.z * pair;
  for (std::int64_t z = 0; z < t.problem.k.z; ++z, to += pair) {
    kernel_plane<Isa>(task, z, task.scratch, line, zero_padded, columns);
    for (std::int64_t column = 0; column < t.columns(); ++column) {
      const float scale = static_cast<float>(column_weight(t, column)) / voxels_of_plane;
      const float* from = columns + column * pair;
      Isa::store(to + column * column_taps_floats(t), scale * Isa::load(from));
      Isa::store(to + column * column_taps_floats(t) + Isa::lanes, -scale * Isa::load(from + Isa::lanes));
    }
  }
}

// Returns a view of one channel's planes, from the tile's first one on, as the channels of one plane.
inline __attribute__((always_inline)) TensorView planes_as_channels(const TileTask& task, std::int64_t channel) {
  TensorView view = *task.in;
  view.data += channel * view.strides.f + task.z * view.strides.z;
  view.shape.f = view.shape.n.z - task.z;
  view.strides.f = view.strides.z;
  return view;
}

// Stores re + im of every value behind the two parts.
template <class Isa>
void sum_parts(const Tiling& t, float* spectra) {
  const std::int64_t planes = padded_planes(t);
  for (std::int64_t i = 0; i < t.columns() * t.problem.in.f; ++i, spectra += 3 * planes) {
    for (std::int64_t z = 0; z < planes; z += Isa::lanes) {
      Isa::store(spectra + 2 * planes + z, Isa::load(spectra + z) + Isa::load(spectra + planes + z));
    }
  }
}

// Returns the work space behind the spectra of a tile's planes: a line, products and planes.
inline __attribute__((always_inline)) float* work_of(const TileTask& task) {
  return task.scratch + task.tiling->columns() * column_planes_floats(*task.tiling);
}

template <class Isa>
void forward_tile(const TileTask& task) {
  const Tiling& t = *task.tiling;
  float* const spectra = task.scratch;
  float* const line = work_of(task);
  float* const plane = line + t.T.x * t.lanes;
  const std::int64_t pair = t.block_step();
  const std::int64_t planes = padded_planes(t);
  const Codelet real = r2c_codelet<Isa, false>(t.T.y);
  const Codelet complex = c2c_codelet<Isa, false>(t.T.y);
  for (std::int64_t channel = 0; channel < t.problem.in.f; ++channel) {
    const TensorView view = planes_as_channels(task, channel);
    for (std::int64_t group = 0; group < planes / Isa::lanes; ++group) {
      forward_lines<Isa>({&t, &view, task.stack, 0}, group, plane, line);
      for (std::int64_t kx = 0; kx <= t.T.x / 2; ++kx) {
        const float* from = plane + kx * t.T.y * pair;
        float* to = spectra + t.first_column(kx) * column_planes_floats(t) + channel * 3 * planes + group * Isa::lanes;
        const Codelet along_y = kx == 0 || kx == t.T.x / 2 ? real : complex;
        along_y(from, from + Isa::lanes, pair, to, to + planes, column_planes_floats(t));
      }
    }
  }
  sum_parts<Isa>(t, spectra);
}

// Multiplies one column of `rows` planes: `channels` channels times `count` taps, with operands from the first plane
// on. Writes out[row][re | im][lane]. Uses three real products for a complex one, as in products.hpp.
template <class Isa, int rows>
inline void multiply_taps(std::int64_t channels, std::int64_t count, const float* operands, std::int64_t planes,
                          const float* taps, float* out, std::int64_t row_step) {
  typename Isa::V shared[rows]{};
  typename Isa::V re[rows]{};
  typename Isa::V im[rows]{};
  for (std::int64_t channel = 0; channel < channels; ++channel, operands += 3 * planes) {
    const float* a = operands;
    for (std::int64_t tap = 0; tap < count; ++tap, taps += 2 * Isa::lanes) {
      const typename Isa::V wr = Isa::load(taps);
      const typename Isa::V wi = Isa::load(taps + Isa::lanes);
      const typename Isa::V minus_sum = -wr - wi;
      const typename Isa::V difference = wi - wr;
      a = Isa::opaque(a);
#pragma GCC unroll 8
      for (int row = 0; row < rows; ++row) {
        im[row] += Isa::broadcast(a[row]) * difference;
        re[row] += Isa::broadcast(a[planes + row]) * minus_sum;
        shared[row] += Isa::broadcast(a[2 * planes + row]) * wr;
      }
      ++a;
    }
  }
#pragma GCC unroll 8
  for (int row = 0; row < rows; ++row, out += row_step) {
    Isa::store(out, shared[row] + re[row]);
    Isa::store(out + Isa::lanes, shared[row] + im[row]);
  }
}

// Multiplies all columns of one kx.
template <class Isa, int rows>
void multiply_columns(const Tiling& t, std::int64_t columns, const float* operands, const float* taps, float* out) {
  const std::int64_t planes = padded_planes(t);
  const std::int64_t row_step = products_floats(t);
  for (std::int64_t column = 0; column < columns; ++column) {
    multiply_taps<Isa, rows>(t.problem.in.f, t.problem.k.z, operands, planes, taps, out, row_step);
    operands += 3 * t.problem.in.f * planes;
    taps += column_taps_floats(t);
    out += t.block_step();
  }
}

using MultiplyColumns = void (*)(const Tiling& t, std::int64_t columns, const float* operands, const float* taps,
                                 float* out);
template <class Isa>
MultiplyColumns multiply_columns_function(std::int64_t rows) {
  switch (rows) {
    case 1: return &multiply_columns<Isa, 1>;
    case 2: return &multiply_columns<Isa, 2>;
    case 3: return &multiply_columns<Isa, 3>;
    case 4: return &multiply_columns<Isa, 4>;
    default: return &multiply_columns<Isa, 5>;
  }
}

// Finishes some planes of the tile and one block: products, then the inverse along y and x. Writes to the position of
// `sink`.
template <class Isa>
void finish_planes(const TileTask& task, std::int64_t block, BlockGroup planes, PlaneSink sink) {
  const Tiling& t = *task.tiling;
  float* const line = work_of(task);
  float* const scratch = line + t.T.x * t.lanes;
  const std::int64_t half = t.T.x / 2;
  const Codelet real = c2r_codelet<Isa, false>(t.T.y);
  const Codelet complex = c2c_codelet<Isa, false>(t.T.y);
  const MultiplyColumns multiply = multiply_columns_function<Isa>(planes.blocks);
  float* const finished = scratch + planes.blocks * products_floats(t);
  for (std::int64_t kx = 0; kx <= half; ++kx) {
    const bool is_real = kx == 0 || kx == half;
    const std::int64_t column = t.first_column(kx);
    multiply(t, is_real ? t.T.y / 2 + 1 : t.T.y, task.scratch + column * column_planes_floats(t) + planes.first,
             task.spectra + (block * t.columns() + column) * column_taps_floats(t), scratch);
    for (std::int64_t row = 0; row < planes.blocks; ++row) {
      const float* from = scratch + row * products_floats(t);
      float* to = finished + row * plane_floats(t) + kx * t.block_step();
      if (is_real) {
        real(from, from + Isa::lanes, t.block_step(), to, nullptr, row_floats(t));
      } else {
        complex(from + Isa::lanes, from, t.block_step(), to + Isa::lanes, to, row_floats(t));
      }
    }
  }
  for (std::int64_t row = 0; row < planes.blocks; ++row, ++sink.z) {
    inverse_lines<Isa>(sink, block, finished + row * plane_floats(t), line);
  }
}

template <class Isa>
void whole_tile(const TileTask& task) {
  constexpr std::int64_t most = planes_at_once(Isa::gemm_rows);
  const Tiling& t = *task.tiling;
  forward_tile<Isa>(task);
  const std::int64_t left = task.out->shape.n.z - task.z;
  const std::int64_t planes = left < t.m().z ? left : t.m().z;
  for (std::int64_t block = 0; block < t.out_blocks(); ++block) {
    for (std::int64_t group = 0; group < group_count(planes, most); ++group) {
      const BlockGroup at = block_group(planes, most, group);
      finish_planes<Isa>(task, block, at, {&t, task.out, task.residual, task.bias, task.stack, task.z + at.first});
    }
  }
  Isa::fence();
}

template <class Isa>
void tile_block(const BlockTask& task) {
  constexpr std::int64_t most = max_planes_of_block(Isa::gemm_rows);
  const TileTask& tile = *task.tile;
  for (std::int64_t group = 0; group < group_count(task.planes, most); ++group) {
    const BlockGroup at = block_group(task.planes, most, group);
    const PlaneSink sink{tile.tiling, task.out, nullptr, nullptr, {}, at.first};
    finish_planes<Isa>(tile, task.block, {task.first + at.first, at.blocks}, sink);
  }
}

}  // namespace znni::cpu::fft_tiled
