// Spectra of kernels. They are conjugated, because a net's convolution is a correlation. They are scaled by
// column_weight() / voxels(T), so that the inverse transforms of tiles need no factor. Zero lines are not transformed
// (pruned FFT). Most lines are along z; their transforms leave out the terms of the zeros behind the taps. Spectra are
// written with non-temporal stores.
#pragma once

#include "primitives/cpu/fft_tiled/codelets.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// Gathers one line of kernel taps, followed by zeros; lanes are output channels.
template <class Isa>
void gather_taps(const SpectraTask& task, std::int64_t z, std::int64_t y, float* line) {
  const ConvProblem& problem = task.tiling->problem;
  const Vec3 k = problem.k;
  const std::int64_t taps = k.z * k.y * k.x;
  const std::int64_t left = problem.f_out - task.block * Isa::lanes;
  const float* from =
      task.kernels + (task.block * Isa::lanes * problem.in.f + task.channel) * taps + (z * k.y + y) * k.x;
  for (std::int64_t x = 0; x < task.tiling->T.x; ++x) {
    float* const tap = line + x * Isa::lanes;
    Isa::store(tap, typename Isa::V{});
    for (std::int64_t j = 0; x < k.x && j < left && j < Isa::lanes; ++j) tap[j] = from[j * problem.in.f * taps + x];
  }
}

// Gathers the same for a packed unit: lanes are 4 output channels of each of 4 input channels.
template <class Isa>
void gather_unit_taps(const SpectraTask& task, std::int64_t z, std::int64_t y, float* line) {
  const Tiling& t = *task.tiling;
  const ConvProblem& problem = t.problem;
  const Vec3 k = problem.k;
  const std::int64_t taps = k.z * k.y * k.x;
  const std::int64_t first = t.out_blocks() * Isa::lanes + (task.block - t.out_blocks()) * unit_lanes;
  for (std::int64_t x = 0; x < t.T.x; ++x) Isa::store(line + x * Isa::lanes, typename Isa::V{});
  for (std::int64_t lane = 0; lane < Isa::lanes; ++lane) {
    const std::int64_t channel = task.channel + lane / unit_lanes;
    const std::int64_t j = first + lane % unit_lanes;
    if (channel >= problem.in.f || j >= problem.f_out) continue;
    const float* const from = task.kernels + (j * problem.in.f + channel) * taps + (z * k.y + y) * k.x;
    for (std::int64_t x = 0; x < k.x; ++x) line[x * Isa::lanes + lane] = from[x];
  }
}

// Returns the index of the task's kernels among the blocks of one frequency.
template <class Isa>
std::int64_t kernels_index(const SpectraTask& task) {
  const Tiling& t = *task.tiling;
  if (task.block < t.out_blocks()) return block_index(t, task.block, Isa::gemm_vectors, task.channel);
  return t.problem.in.f * t.out_blocks() + (task.block - t.out_blocks()) * unit_kernels(t) + task.channel / unit_lanes;
}

// Computes all columns of one plane of taps.
template <class Isa>
void kernel_plane(const SpectraTask& task, std::int64_t z, float* plane, float* line, float* zero_padded,
                  float* columns) {
  const Tiling& t = *task.tiling;
  const std::int64_t pair = t.block_step();
  const Codelet along_x = r2c_codelet<Isa, false>(t.T.x);
  for (std::int64_t y = 0; y < t.problem.k.y; ++y) {
    task.block < t.out_blocks() ? gather_taps<Isa>(task, z, y, line) : gather_unit_taps<Isa>(task, z, y, line);
    along_x(line, nullptr, Isa::lanes, plane + y * pair, plane + y * pair + Isa::lanes, t.T.y * pair);
  }
  for (std::int64_t y = t.problem.k.y * pair; y < t.T.y * pair; y += Isa::lanes) {
    Isa::store(zero_padded + y, typename Isa::V{});
  }
  for (std::int64_t kx = 0; kx <= t.T.x / 2; ++kx) {
    for (std::int64_t y = 0; y < t.problem.k.y * pair; y += Isa::lanes) {
      Isa::store(zero_padded + y, Isa::load(plane + kx * t.T.y * pair + y));
    }
    float* to = columns + t.first_column(kx) * pair;
    const bool real = kx == 0 || kx == t.T.x / 2;
    const Codelet along_y = real ? r2c_codelet<Isa, false>(t.T.y) : c2c_codelet<Isa, false>(t.T.y);
    along_y(zero_padded, zero_padded + Isa::lanes, pair, to, to + Isa::lanes, pair);
  }
}

// Returns the codelet for lines whose values from `taps` on are zero.
template <class Isa>
Codelet taps_codelet(std::int64_t n, std::int64_t taps) {
  if (taps <= 3 && n > 3) return c2c_of_3_codelet<Isa, true>(n);
  if (taps <= 5 && n > 5) return c2c_of_5_codelet<Isa, true>(n);
  return c2c_codelet<Isa, true>(n);
}

template <class Isa>
void kernel_spectra(const SpectraTask& task) {
  const Tiling& t = *task.tiling;
  const std::int64_t pair = t.block_step();
  float* const columns = task.scratch + plane_floats(t);
  float* const line = columns + t.problem.k.z * t.columns() * pair;
  float* const along = line + t.T.x * Isa::lanes;
  float* const zero_padded = along + t.T.z * pair;
  for (std::int64_t z = 0; z < t.problem.k.z; ++z) {
    kernel_plane<Isa>(task, z, task.scratch, line, zero_padded, columns + z * t.columns() * pair);
  }
  for (std::int64_t i = t.problem.k.z * pair; i < t.T.z * pair; i += Isa::lanes)
    Isa::store(along + i, typename Isa::V{});
  const Codelet along_z = taps_codelet<Isa>(t.T.z, t.problem.k.z);
  const std::int64_t index = kernels_index<Isa>(task);
  const float voxels_of_tile = static_cast<float>(t.T.z * t.T.y * t.T.x);
  for (std::int64_t column = 0; column < t.columns(); ++column) {
    const float scale = static_cast<float>(column_weight(t, column)) / voxels_of_tile;
    for (std::int64_t z = 0; z < t.problem.k.z; ++z) {
      const float* from = columns + (z * t.columns() + column) * pair;
      Isa::store(along + z * pair, scale * Isa::load(from));
      Isa::store(along + z * pair + Isa::lanes, -scale * Isa::load(from + Isa::lanes));
    }
    float* to = task.spectra + column * kernel_column_floats(t) + index * pair;
    along_z(along + Isa::lanes, along, pair, to + Isa::lanes, to, kernel_frequency_floats(t));
  }
  Isa::fence();
}

}  // namespace znni::cpu::fft_tiled
