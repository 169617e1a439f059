#include "primitives/cpu/fft/pruned_fft.hpp"

#include <algorithm>
#include <utility>

namespace znni::cpu {
namespace {

// Return the transforms of the lines of a tile: sample e of line l at e * tile_lines + l. `step` is the distance of
// samples in the transform.
FftLines from_tile(std::int64_t n, std::int64_t step) { return {FftKind::forward, n, 0, tile_lines, 1, step, 1}; }
FftLines to_tile(std::int64_t n, std::int64_t step) { return {FftKind::backward, n, 0, step, 1, tile_lines, 1}; }

// Fills a tile of `lines` lines of length n. Row e * spacing gets sample e, which lies `step` values after the one
// before it; other rows are zero.
void gather(const Complex* from, std::int64_t step, std::int64_t samples, std::int64_t spacing, std::int64_t n,
            std::int64_t lines, Complex* tile) {
  for (std::int64_t e = 0; e < n; ++e) {
    Complex* row = tile + e * tile_lines;
    if (e % spacing == 0 && e / spacing < samples) {
      std::copy_n(from + e / spacing * step, lines, row);
    } else {
      std::fill_n(row, lines, Complex());
    }
  }
}

void scatter(const Complex* tile, std::int64_t step, std::int64_t samples, std::int64_t lines, Complex* to) {
  for (std::int64_t e = 0; e < samples; ++e) std::copy_n(tile + e * tile_lines, lines, to + e * step);
}

}  // namespace

Voxels channel_voxels(const TensorView& view, std::int64_t s, std::int64_t j) {
  return {view.channel(s, j), {view.strides.z, view.strides.y, view.strides.x}};
}

Result<LineBlocks> LineBlocks::make(FftLines block, std::int64_t lines) {
  LineBlocks blocks;
  blocks.lines_ = lines;
  for (auto [count, plan] : {std::pair{lines >= tile_lines ? tile_lines : 0, &blocks.whole_},
                             std::pair{lines % tile_lines, &blocks.rest_}}) {
    if (count == 0) continue;
    block.lines = count;
    Result<Fft1d> made = Fft1d::make(block);
    if (!made) return made.error();
    *plan = std::move(made.value());
  }
  return blocks;
}

Result<PrunedForward> PrunedForward::make(Vec3 n_fft, Vec3 samples, Vec3 spacing) {
  ensure(covers(n_fft, dilated(samples, spacing)), "the samples of a transform fit into it");
  const std::int64_t row = row_elements(n_fft);
  const std::int64_t plane = plane_elements(n_fft);
  Result<LineBlocks> x =
      LineBlocks::make({FftKind::real_to_complex, n_fft.x, 0, 1, n_fft.x, 1, spacing.y * row}, samples.y);
  if (!x) return x.error();
  Result<LineBlocks> y = LineBlocks::make(from_tile(n_fft.y, row), row);
  if (!y) return y.error();
  Result<LineBlocks> z = LineBlocks::make(from_tile(n_fft.z, plane), plane);
  if (!z) return z.error();
  Result<LineBlocks> packed = LineBlocks::make(from_tile(n_fft.z, tile_lines), plane);
  if (!packed) return packed.error();
  PrunedForward fft;
  fft.n_fft_ = n_fft;
  fft.samples_ = samples;
  fft.spacing_ = spacing;
  fft.along_x_ = std::move(*x);
  fft.along_y_ = std::move(*y);
  fft.along_z_ = std::move(*z);
  fft.packed_along_z_ = std::move(*packed);
  return fft;
}

void PrunedForward::run(const ConstVoxels& from, Complex* transform, std::span<Complex> tile) const {
  for (std::int64_t index = 0; index < planes(); ++index) plane(from, index, transform, tile);
  for (std::int64_t block = 0; block < along_z_.count(); ++block) column_block(block, transform, tile);
}

void PrunedForward::load_row(const float* from, std::int64_t step, float* row) const {
  if (step == 1 && spacing_.x == 1) {
    std::copy_n(from, samples_.x, row);
    std::fill(row + samples_.x, row + n_fft_.x, 0.0F);
    return;
  }
  std::fill_n(row, n_fft_.x, 0.0F);
  for (std::int64_t e = 0; e < samples_.x; ++e) row[e * spacing_.x] = from[e * step];
}

void PrunedForward::packed_plane(const ConstVoxels& from, std::int64_t index, Complex* plane,
                                 std::span<Complex> tile) const {
  const std::int64_t row = row_elements(n_fft_);
  const float* source = from.data + index * from.step.z;
  auto* rows = reinterpret_cast<float*>(tile.data());
  for (std::int64_t block = 0; block < along_x_.count(); ++block) {
    const std::int64_t first = along_x_.first(block);
    for (std::int64_t r = 0; r < along_x_.lines(block); ++r) {
      load_row(source + (first + r) * from.step.y, from.step.x, rows + r * n_fft_.x);
    }
    along_x_.plan(block).from_real(rows, plane + first * spacing_.y * row);
  }
  for (std::int64_t block = 0; block < along_y_.count(); ++block) {
    Complex* lines = plane + along_y_.first(block);
    gather(lines, spacing_.y * row, samples_.y, spacing_.y, n_fft_.y, along_y_.lines(block), tile.data());
    along_y_.plan(block).complex_lines(tile.data(), lines);
  }
}

void PrunedForward::column_block(std::int64_t block, Complex* transform, std::span<Complex> tile) const {
  Complex* lines = transform + along_z_.first(block);
  const std::int64_t step = spacing_.z * plane_elements(n_fft_);
  gather(lines, step, samples_.z, spacing_.z, n_fft_.z, along_z_.lines(block), tile.data());
  along_z_.plan(block).complex_lines(tile.data(), lines);
}

void PrunedForward::packed_column_block(std::int64_t block, const Complex* planes, std::span<Complex> tile,
                                        Complex* to) const {
  const Complex* lines = planes + packed_along_z_.first(block);
  gather(lines, plane_elements(n_fft_), samples_.z, spacing_.z, n_fft_.z, packed_along_z_.lines(block), tile.data());
  packed_along_z_.plan(block).complex_lines(tile.data(), to);
}

Result<PrunedInverse> PrunedInverse::make(Vec3 n_fft, Vec3 wanted) {
  ensure(covers(n_fft, wanted), "the voxels wanted of a transform lie in it");
  const std::int64_t row = row_elements(n_fft);
  const std::int64_t plane = plane_elements(n_fft);
  Result<LineBlocks> x = LineBlocks::make({FftKind::complex_to_real, n_fft.x, 0, 1, row, 1, n_fft.x}, wanted.y);
  if (!x) return x.error();
  Result<LineBlocks> y = LineBlocks::make(to_tile(n_fft.y, row), row);
  if (!y) return y.error();
  Result<LineBlocks> z = LineBlocks::make(to_tile(n_fft.z, plane), plane);
  if (!z) return z.error();
  PrunedInverse fft;
  fft.n_fft_ = n_fft;
  fft.wanted_ = wanted;
  fft.along_x_ = std::move(*x);
  fft.along_y_ = std::move(*y);
  fft.along_z_ = std::move(*z);
  return fft;
}

void PrunedInverse::run(Complex* transform, const Finish& finish, const Voxels& to, std::span<Complex> tile) const {
  for (std::int64_t block = 0; block < along_z_.count(); ++block) column_block(block, transform, tile);
  for (std::int64_t index = 0; index < planes(); ++index) plane(index, transform, finish, to, tile);
}

void PrunedInverse::column_block(std::int64_t block, Complex* transform, std::span<Complex> tile) const {
  Complex* lines = transform + along_z_.first(block);
  along_z_.plan(block).complex_lines(lines, tile.data());
  scatter(tile.data(), plane_elements(n_fft_), wanted_.z, along_z_.lines(block), lines);
}

void PrunedInverse::plane(std::int64_t index, Complex* transform, const Finish& finish, const Voxels& to,
                          std::span<Complex> tile) const {
  const std::int64_t row = row_elements(n_fft_);
  Complex* plane = transform + index * plane_elements(n_fft_);
  for (std::int64_t block = 0; block < along_y_.count(); ++block) {
    Complex* lines = plane + along_y_.first(block);
    along_y_.plan(block).complex_lines(lines, tile.data());
    scatter(tile.data(), row, wanted_.y, along_y_.lines(block), lines);
  }
  float* target = to.data + index * to.step.z;
  const ConstVoxels& residual = finish.residual;
  Addend addend{nullptr, residual.step.x};
  auto* rows = reinterpret_cast<float*>(tile.data());
  for (std::int64_t block = 0; block < along_x_.count(); ++block) {
    const std::int64_t first = along_x_.first(block);
    along_x_.plan(block).to_real(plane + first * row, rows);
    for (std::int64_t r = 0; r < along_x_.lines(block); ++r) {
      const std::span<float> voxels(rows + r * n_fft_.x, static_cast<std::size_t>(wanted_.x));
      if (residual.data != nullptr) {
        addend.row = residual.data + index * residual.step.z + (first + r) * residual.step.y;
      }
      store_row(voxels, finish.epilogue, addend, target + (first + r) * to.step.y, to.step.x);
    }
  }
}

}  // namespace znni::cpu
