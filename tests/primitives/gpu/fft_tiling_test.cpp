// Tiles of a convolution by FFT: how they are chosen, what they take, and that cutting, circular correlation and
// putting together give the convolution. The correlation stands for transforms and products, which need a GPU.
#include "primitives/gpu/fft_tiling.hpp"

#include <gtest/gtest.h>

#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/host_math.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

using Floats = std::vector<float>;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// A convolution as the layer computes it, with one slice for all columns of a chunk.
class HostConvolution {
 public:
  HostConvolution(const ConvProblem& conv, const FftTiling& tiling) : conv_(conv), tiling_(tiling) {}

  void run(const TensorView& in, const TensorView* residual, const Floats& kernels, const Floats& bias,
           const TensorView& out) {
    const std::int64_t volume = tiling_.tile_voxels();
    const Floats kernel_tiles = read_kernels(kernels);
    for (std::int64_t chunk = 0; chunk < tiling_.chunks; ++chunk) {
      const Floats tiles = read_tiles(in, chunk);
      Floats products(at(tiling_.chunk_tiles * conv_.f_out * volume), 0.0F);
      for (std::int64_t tile = 0; tile < tiling_.chunk_tiles; ++tile) {
        for (std::int64_t j = 0; j < conv_.f_out; ++j) {
          for (std::int64_t i = 0; i < conv_.in.f; ++i) {
            correlate(&tiles[at((tile * conv_.in.f + i) * volume)], &kernel_tiles[at((j * conv_.in.f + i) * volume)],
                      &products[at((tile * conv_.f_out + j) * volume)]);
          }
        }
      }
      write_tiles(products, chunk, residual, bias, out);
    }
  }

 private:
  Floats read_kernels(const Floats& kernels) const {
    const std::int64_t pairs = conv_.in.f * conv_.f_out;
    const KernelTileArg arg{tiling_.grid.tile, extent_of(conv_.k), extent_of(conv_.dilation), 0, pairs, pairs};
    Floats tiles(at(pairs * tiling_.tile_voxels()));
    for (Index row = 0; row < kernel_tile_rows(arg); ++row) {
      for (int x = 0; x < arg.tile.x; ++x) {
        tiles[at(row * arg.tile.x + x)] = kernel_tile_value(arg, row, x, kernels.data());
      }
    }
    return tiles;
  }

  TileArg tile_arg(const TensorView& view, std::int64_t chunk, Extent rows) const {
    const std::int64_t columns = tiling_.chunk_tiles * view.shape.f;
    return {tiling_.grid, view.shape.f, extent_of(view.shape.n), steps_of(view.strides), chunk * columns,
            columns,      rows};
  }

  Floats read_tiles(const TensorView& in, std::int64_t chunk) const {
    const TileArg arg = tile_arg(in, chunk, tiling_.grid.tile);
    Floats tiles(at(arg.columns * tiling_.tile_voxels()), std::nanf(""));
    for (Index index = 0; index < tile_rows(arg); ++index) {
      const TileRow row = tile_row(arg, index);
      for (int x = 0; x < arg.row_extent.x; ++x) tiles[at(row.in_tile + x)] = tile_value(arg, row, x, in.data);
    }
    return tiles;
  }

  // Computes to[v] += sum over d of kernel[d] from[v + d], indices modulo the tile.
  void correlate(const float* from, const float* kernel, float* to) const {
    const Extent t = tiling_.grid.tile;
    for (Index d = 0; d < tiling_.tile_voxels(); ++d) {
      if (kernel[d] == 0.0F) continue;
      const Extent u{d / (t.y * t.x), d / t.x % t.y, d % t.x};
      for (Index v = 0; v < tiling_.tile_voxels(); ++v) {
        const Index z = (v / (t.y * t.x) + u.z) % t.z;
        const Index y = (v / t.x % t.y + u.y) % t.y;
        const Index x = (v % t.x + u.x) % t.x;
        to[v] += kernel[d] * from[(z * t.y + y) * t.x + x];
      }
    }
  }

  void write_tiles(const Floats& tiles, std::int64_t chunk, const TensorView* residual, const Floats& bias,
                   const TensorView& out) const {
    const TileArg arg = tile_arg(out, chunk, tiling_.grid.kept);
    TileEnd end;
    end.bias = bias.empty() ? nullptr : bias.data();
    end.act = act_of(conv_.activation.kind);
    end.alpha = conv_.activation.alpha;
    if (residual != nullptr) {
      end.residual = residual->data;
      end.residual_steps = steps_of(residual->strides);
    }
    for (Index index = 0; index < tile_rows(arg); ++index) {
      const TileRow row = tile_row(arg, index);
      const Index first = row.voxels > 0 ? residual_row(arg, end, row, index) : 0;
      for (Index x = 0; x < row.voxels; ++x) {
        out.data[row.in_tensor + x * arg.steps.x] =
            tile_end<HostMath>(end, tiles[at(row.in_tile + x)], row.channel, first + x * end.residual_steps.x);
      }
    }
  }

  ConvProblem conv_;
  FftTiling tiling_;
};

void check_convolution(const ConvProblem& conv, std::int64_t edge, std::uint64_t seed) {
  SCOPED_TRACE(to_string(LayerProblem(conv)) + ", tiles of " + std::to_string(edge));
  const std::optional<FftTiling> tiling = make_tiling(conv, edge, std::int64_t{1} << 18);
  if (!tiling) return;
  test::Random random(seed);
  const test::Weights weights = test::random_weights(conv, random);
  const std::vector<Floats> values = test::random_inputs(conv, random);
  HostTensor in(conv.in, planar_f32, true, seed);
  HostTensor out(output_shape(conv), planar_f32, true, seed + 1);
  HostTensor residual(output_shape(conv), planar_f32, true, seed + 2);
  in.store(values[0]);
  if (conv.residual) residual.store(values[1]);
  out.store(Floats(at(elements(output_shape(conv))), std::nanf("")));
  HostConvolution(conv, *tiling)
      .run(in.view(), conv.residual ? &residual.view() : nullptr, weights.kernels, weights.bias, out.view());
  std::vector<oracle::Values> exact;
  for (const Floats& value : values) exact.push_back(oracle::widened(value));
  test::expect_close(out.load(), oracle::oracle_run(conv, exact, weights.view()),
                     oracle::tolerance(conv, exact, weights.view()), "tiles");
}

TEST(FftTiling, TilesPutTogetherAreTheConvolution) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    const ConvProblem conv = test::random_conv(random, 1e5);
    for (const std::int64_t edge : {8, 16}) check_convolution(conv, edge, seed);
  }
}

TEST(FftTiling, ExtentsAreSmoothAndNoSmallerThanAsked) {
  EXPECT_EQ(fft_extent(1), 1);
  EXPECT_EQ(fft_extent(11), 12);
  EXPECT_EQ(fft_extent(97), 98);
  EXPECT_EQ(fft_extent(211), 216);
  for (std::int64_t n = 1; n < 300; ++n) EXPECT_GE(fft_extent(n), n);
}

TEST(FftTiling, CutsLongAxesAndKeepsShortOnesWhole) {
  const ConvProblem conv{{2, 80, {20, 100, 300}}, 80, {5, 5, 5}, {1, 1, 1}, {1, 1, 1}, {}, false};
  const std::optional<FftTiling> tiling = make_tiling(conv, 64, std::int64_t{1} << 30);
  ASSERT_TRUE(tiling.has_value());
  EXPECT_EQ(tiling->grid.tile.z, 20);
  EXPECT_EQ(tiling->grid.tiles.z, 1);
  EXPECT_EQ(tiling->grid.tile.y, 64);
  EXPECT_EQ(tiling->grid.kept.y, 60);
  EXPECT_EQ(tiling->grid.tiles.y, 2);  // 96 outputs
  EXPECT_EQ(tiling->grid.tiles.x, 5);  // 296 outputs
  EXPECT_EQ(tiling->spread, (Vec3{20 - 5, 64 - 5, 64 - 5}));
  EXPECT_EQ(make_tiling_of_32(conv, 1 << 30)->spread, (Vec3{20 - 5, 32 - 5, 32 - 5}));
  EXPECT_EQ(tiling->frequencies(), 20 * 64 * 33);
  EXPECT_GE(tiling->chunks * tiling->chunk_tiles, 2 * 2 * 5);
  EXPECT_FALSE(
      make_tiling({{1, 1, {99, 99, 99}}, 1, {30, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, false}, 32, 1 << 20).has_value());
}

TEST(FftTiling, ChunksStayWithinWhatTheyAreGiven) {
  const ConvProblem conv{{1, 80, {300, 300, 300}}, 80, {7, 7, 7}, {1, 1, 1}, {1, 1, 1}, {}, false};
  for (const std::int64_t mebibytes : {256, 2048}) {
    const FftTiling tiling = *make_tiling(conv, 48, mebibytes << 20);
    const std::int64_t spectra = complex_bytes(tiling.chunk_tiles * tiling.frequencies() * (80 + 80));
    EXPECT_LE(spectra, mebibytes << 20);
    EXPECT_GT(spectra, (mebibytes << 20) / 2);
    EXPECT_GE(tiling.chunks * tiling.chunk_tiles, tile_count(tiling.grid));
    EXPECT_LT((tiling.chunks - 1) * tiling.chunk_tiles, tile_count(tiling.grid)) << "no chunk is empty";
  }
  // One tile where even that is more than given.
  EXPECT_EQ(make_tiling(conv, 128, 1)->chunk_tiles, 1);
}

// The figures of the paper's primitive are spectra of the whole input; with tiles the scratch no longer grows with the
// input.
TEST(FftTiling, ScratchIsBoundedWhateverTheInput) {
  const auto scratch = [](std::int64_t n) {
    const ConvProblem conv{{8, 80, Vec3::cube(n)}, 80, Vec3::cube(7), {1, 1, 1}, {1, 1, 1}, {}, false};
    return peak(fft_buffers(conv, *make_tiling(conv, 48, std::int64_t{2048} << 20), true), MemorySpace::device);
  };
  EXPECT_LE(scratch(500), scratch(200) * 11 / 10);
  EXPECT_LE(scratch(500), std::int64_t{3} << 30);
}

TEST(FftTiling, KeptSpectraAreAPersistentBuffer) {
  const ConvProblem conv{{1, 80, Vec3::cube(100)}, 80, Vec3::cube(5), {1, 1, 1}, {1, 1, 1}, {}, false};
  const FftTiling tiling = *make_tiling(conv, 32, 1 << 28);
  const MemoryPlan kept = fft_buffers(conv, tiling, true);
  const MemoryPlan remade = fft_buffers(conv, tiling, false);
  const std::int64_t spectra = 80 * 80 * std::int64_t{32 * 32 * 17} * 8;
  EXPECT_EQ(persistent_bytes(kept, MemorySpace::device) - persistent_bytes(remade, MemorySpace::device), spectra);
  EXPECT_GT(fft_traffic(conv, tiling, false), fft_traffic(conv, tiling, true));
  EXPECT_GT(fft_product_flops(tiling), 8.0 * 80 * 80 * 100 * 100 * 100 / 2);
}

TEST(FftTiling, HugeProblemsSaturate) {
  const ConvProblem conv{
      {1 << 20, 1 << 10, Vec3::cube(1 << 10)}, 1 << 10, Vec3::cube(3), {1, 1, 1}, {1, 1, 1}, {}, false};
  const std::optional<FftTiling> tiling = make_tiling(conv, 128, 1 << 30);
  ASSERT_TRUE(tiling.has_value());
  EXPECT_GT(peak(fft_buffers(conv, *tiling, false), MemorySpace::device), 0);
}

}  // namespace
}  // namespace znni::cuda
