// Pruned 3D transforms (ZNNi section III): 1D transforms along x, then y, then z. Forward transforms skip lines that
// are all zero; backward transforms skip lines that are not needed.
//
// Forward: k.z k.y lines along x, k.z (n_fft.x / 2 + 1) along y, n_fft.y (n_fft.x / 2 + 1) along z; k counts the
// non-zero samples (taps of a kernel, voxels of a channel). Backward is the same in reverse. Lines along y and z pass
// through a small tile, out of place. The zeros are written to the tile only and never to the transform.
//
// primitives/cpu/fft/fft_sizes.hpp defines the layout of a transform; its address is a multiple of eight bytes. Every
// object here is made once and may be run from many threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "primitives/core/shape.hpp"
#include "primitives/core/tensor.hpp"
#include "primitives/cpu/fft/fft_1d.hpp"
#include "primitives/cpu/fft/row_epilogue.hpp"

namespace znni::cpu {

// Real samples in borrowed host memory; steps in elements.
template <class Float>
struct VoxelsOf {
  Float* data = nullptr;
  Vec3 step;
};
using Voxels = VoxelsOf<float>;
using ConstVoxels = VoxelsOf<const float>;

// Returns channel j of input s of a planar view.
[[nodiscard]] Voxels channel_voxels(const TensorView& view, std::int64_t s, std::int64_t j);

// Lines transformed together. They fill the vector registers and whole cache lines, and their tile stays in the first
// two levels of cache.
inline constexpr std::int64_t tile_lines = 32;

// Returns the complex values of the tile that one thread needs for transforms of extent n_fft.
[[nodiscard]] constexpr std::int64_t tile_elements(Vec3 n_fft) {
  const std::int64_t longest = n_fft.x > n_fft.y ? n_fft.x : n_fft.y;
  return mul(tile_lines, longest > n_fft.z ? longest : n_fft.z);
}

// 1D transforms of `lines` lines, in blocks of tile_lines and one smaller block.
class LineBlocks {
 public:
  // Makes the plans. `block` describes the transforms of one block; make() fills in its number of lines.
  [[nodiscard]] static Result<LineBlocks> make(FftLines block, std::int64_t lines);

  [[nodiscard]] std::int64_t lines() const { return lines_; }
  [[nodiscard]] std::int64_t count() const { return div_up(lines_, tile_lines); }
  [[nodiscard]] std::int64_t first(std::int64_t block) const { return block * tile_lines; }
  [[nodiscard]] std::int64_t lines(std::int64_t block) const {
    return (block + 1) * tile_lines <= lines_ ? tile_lines : lines_ - first(block);
  }
  [[nodiscard]] const Fft1d& plan(std::int64_t block) const { return lines(block) == tile_lines ? *whole_ : *rest_; }

 private:
  std::int64_t lines_ = 0;
  std::optional<Fft1d> whole_;
  std::optional<Fft1d> rest_;
};

// Forward transforms of `samples` samples per axis, `spacing` voxels apart, the first at the origin; all other voxels
// are zero.
class PrunedForward {
 public:
  // Requires n_fft >= spacing * (samples - 1) + 1.
  [[nodiscard]] static Result<PrunedForward> make(Vec3 n_fft, Vec3 samples, Vec3 spacing = Vec3::cube(1));

  // Computes a whole transform on one thread. `tile`: tile_elements(n_fft) values aligned to fft_alignment.
  void run(const ConstVoxels& from, Complex* transform, std::span<Complex> tile) const;

  // Compute the transform in parts: first all planes (x and y), then all blocks of columns (z), in any order and
  // concurrently within each step. A block covers columns [first, first + count) of the plane's n_fft.y (n_fft.x / 2 +
  // 1).
  [[nodiscard]] std::int64_t planes() const { return samples_.z; }
  void plane(const ConstVoxels& from, std::int64_t index, Complex* transform, std::span<Complex> tile) const {
    packed_plane(from, index, transform + index * spacing_.z * plane_elements(n_fft_), tile);
  }
  [[nodiscard]] const LineBlocks& columns() const { return along_z_; }
  void column_block(std::int64_t block, Complex* transform, std::span<Complex> tile) const;

  // Compute the transform in parts without storing it whole. The caller holds all planes() planes side by side. Each
  // block of columns is transformed into `to`, a second tile, with value z of column c at z * tile_lines + c.
  void packed_plane(const ConstVoxels& from, std::int64_t index, Complex* plane, std::span<Complex> tile) const;
  void packed_column_block(std::int64_t block, const Complex* planes, std::span<Complex> tile, Complex* to) const;

 private:
  PrunedForward() = default;
  void load_row(const float* from, std::int64_t step, float* row) const;

  Vec3 n_fft_;
  Vec3 samples_;
  Vec3 spacing_;
  LineBlocks along_x_;
  LineBlocks along_y_;
  LineBlocks along_z_;
  LineBlocks packed_along_z_;
};

// Backward transforms to real voxels; only the voxels [0, wanted) per axis are computed to the end.
class PrunedInverse {
 public:
  [[nodiscard]] static Result<PrunedInverse> make(Vec3 n_fft, Vec3 wanted);

  // Epilogue of the voxels. The epilogue's scale must include the factor 1 / voxels(n_fft). `residual` is added before
  // the activation; there is none if its data is null.
  struct Finish {
    Epilogue epilogue;
    ConstVoxels residual;
  };

  // Computes a whole backward transform; destroys `transform`.
  void run(Complex* transform, const Finish& finish, const Voxels& to, std::span<Complex> tile) const;

  // Compute it in parts: first all blocks of columns, then all planes.
  [[nodiscard]] const LineBlocks& columns() const { return along_z_; }
  void column_block(std::int64_t block, Complex* transform, std::span<Complex> tile) const;
  [[nodiscard]] std::int64_t planes() const { return wanted_.z; }
  void plane(std::int64_t index, Complex* transform, const Finish& finish, const Voxels& to,
             std::span<Complex> tile) const;

 private:
  PrunedInverse() = default;

  Vec3 n_fft_;
  Vec3 wanted_;
  LineBlocks along_x_;
  LineBlocks along_y_;
  LineBlocks along_z_;
};

}  // namespace znni::cpu
