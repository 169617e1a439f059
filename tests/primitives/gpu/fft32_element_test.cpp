// The kernels of primitives/cuda/kernels/fft32_kernel.cu on the host, thread by thread between their barriers:
// transforms against their definition, and whole convolutions against the oracle.
#include "primitives/gpu/fft32_element.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <numbers>

#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/fft_tiling.hpp"
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
using Spectra = std::vector<Complex>;

TEST(Fft32, IsTheTransformOfItsDefinition) {
  test::Random random(1);
  Points32 points = {};
  for (Complex& value : points.v) value = {random.normal(), random.normal()};
  for (const int sign : {-1, 1}) {
    Points32 found = points;
    sign < 0 ? fft32<-1>(found) : fft32<1>(found);
    for (int k = 0; k < 32; ++k) {
      std::complex<double> sum = 0.0;
      for (int j = 0; j < 32; ++j) {
        const double angle = sign * 2.0 * std::numbers::pi * j * k / 32.0;
        sum += std::polar(1.0, angle) * std::complex<double>(points.v[j].re, points.v[j].im);
      }
      EXPECT_NEAR(found.v[reversed(k)].re, sum.real(), 1e-5);
      EXPECT_NEAR(found.v[reversed(k)].im, sum.imag(), 1e-5);
    }
  }
}

TEST(Fft32, BitsReversedTwiceAreThemselves) {
  for (int k = 0; k < 32; ++k) EXPECT_EQ(reversed(reversed(k)), k);
  EXPECT_EQ(reversed(1), 16);
  EXPECT_EQ(reversed(6), 12);
}

// A block's shared memory, poisoned, and its threads' registers.
struct Block {
  Floats shared = Floats(plane_shared_bytes / 4, std::nanf(""));
  std::vector<Points32> registers = std::vector<Points32>(plane_threads);

  float* real() { return shared.data(); }
  Complex* spectra() { return reinterpret_cast<Complex*>(shared.data()); }
  template <class Body>
  void threads(const Body& body) {
    for (int thread = 0; thread < plane_threads; ++thread) body(thread);
  }
};

void transform_plane(Block& block, const Plane& plane, Index columns, Spectra& out) {
  block.threads([&](int t) {
    if (has_row_pair(t)) block.registers[static_cast<std::size_t>(t)] = read_row_pair(t, block.real());
  });
  std::fill(block.shared.begin(), block.shared.end(), std::nanf(""));
  block.threads([&](int t) {
    if (has_row_pair(t)) transform_row_pair(t, block.registers[static_cast<std::size_t>(t)], block.spectra());
  });
  block.threads([&](int t) {
    if (has_column_of_plane(plane, t)) transform_plane_column(plane, t, block.spectra(), columns, out.data());
  });
}

template <int sign>
void transform_depths(Index columns, int planes, Spectra& spectra) {
  for (Index index = 0; index < plane_frequencies * columns; ++index) {
    transform_depth<sign>(index, columns, planes, spectra.data());
  }
}

Spectra forward(const TileArg& arg, Index tiles, const float* tensor) {
  const Index columns = tiles * arg.channels;
  Spectra spectra(static_cast<std::size_t>(columns * plane_frequencies * 32), Complex{std::nanf(""), 0.0F});
  for (Index index = 0; index < plane_count(arg, tiles); ++index) {
    Block block;
    const Plane plane = plane_at(arg, TileEnd(), index);
    block.threads([&](int t) { read_plane(arg, plane, t, tensor, block.real()); });
    transform_plane(block, plane, columns, spectra);
  }
  transform_depths<-1>(columns, 32, spectra);
  return spectra;
}

Spectra forward_kernels(const KernelTileArg& arg, const Floats& kernels) {
  TileArg as_tiles;
  as_tiles.channels = arg.pairs;
  as_tiles.row_extent = arg.tile;
  Spectra spectra(static_cast<std::size_t>(arg.pairs * plane_frequencies * 32), Complex{std::nanf(""), 0.0F});
  for (Index index = 0; index < plane_count(as_tiles, 1); ++index) {
    Block block;
    const Plane plane = plane_at(as_tiles, TileEnd(), index);
    block.threads([&](int t) { read_kernel_plane(arg, plane, t, kernels.data(), block.real()); });
    transform_plane(block, plane, arg.pairs, spectra);
  }
  transform_depths<-1>(arg.pairs, 32, spectra);
  return spectra;
}

void back(const TileArg& arg, const TileEnd& end, Index tiles, Spectra& spectra, float* tensor) {
  const Index columns = tiles * arg.channels;
  const int rows = static_cast<int>(arg.row_extent.y);
  transform_depths<1>(columns, static_cast<int>(arg.row_extent.z), spectra);
  for (Index index = 0; index < plane_count(arg, tiles); ++index) {
    Block block;
    const Plane plane = plane_at(arg, end, index);
    if (plane.rows == 0) continue;
    block.threads([&](int t) {
      if (has_column_of_plane(plane, t)) {
        transform_plane_column_back(plane, t, spectra.data(), columns, rows, block.spectra());
      }
    });
    block.threads([&](int t) {
      if (has_row_pair(t)) {
        block.registers[static_cast<std::size_t>(t)] = transform_row_pair_back(t, rows, block.spectra());
      }
    });
    block.threads([&](int t) {
      if (has_row_pair(t)) write_row_pair(t, block.registers[static_cast<std::size_t>(t)], block.real());
    });
    block.threads([&](int t) { write_plane<HostMath>(arg, end, plane, t, block.real(), tensor); });
  }
}

// Multiplies as cuBLAS does on the device (primitives/cuda/fft/fft_products.hpp).
Spectra multiply(const ConvProblem& conv, Index tiles, const Spectra& kernels, const Spectra& inputs) {
  const Index f = conv.in.f;
  const Index f_out = conv.f_out;
  Spectra outputs(static_cast<std::size_t>(plane_frequencies * 32 * tiles * f_out));
  for (Index frequency = 0; frequency < plane_frequencies * 32; ++frequency) {
    for (Index tile = 0; tile < tiles; ++tile) {
      for (Index j = 0; j < f_out; ++j) {
        std::complex<double> sum = 0.0;
        for (Index i = 0; i < f; ++i) {
          const Complex w = kernels[static_cast<std::size_t>((frequency * f_out + j) * f + i)];
          const Complex x = inputs[static_cast<std::size_t>((frequency * tiles + tile) * f + i)];
          sum += std::complex<double>(w.re, -w.im) * std::complex<double>(x.re, x.im);
        }
        outputs[static_cast<std::size_t>((frequency * tiles + tile) * f_out + j)] = {static_cast<float>(sum.real()),
                                                                                     static_cast<float>(sum.imag())};
      }
    }
  }
  return outputs;
}

void check_convolution(const ConvProblem& conv, std::uint64_t seed) {
  SCOPED_TRACE(to_string(LayerProblem(conv)));
  const std::optional<FftTiling> tiling = make_tiling_of_32(conv, std::int64_t{1} << 21);
  if (!tiling) return;
  test::Random random(seed);
  const test::Weights weights = test::random_weights(conv, random);
  const std::vector<Floats> values = test::random_inputs(conv, random);
  HostTensor in(conv.in, planar_f32, true, seed);
  HostTensor out(output_shape(conv), planar_f32, true, seed + 1);
  HostTensor residual(output_shape(conv), planar_f32, true, seed + 2);
  in.store(values[0]);
  if (conv.residual) residual.store(values[1]);
  out.store(Floats(static_cast<std::size_t>(elements(output_shape(conv))), std::nanf("")));
  const Index pairs = conv.in.f * conv.f_out;
  const Spectra kernels = forward_kernels(
      {tiling->grid.tile, extent_of(conv.k), extent_of(conv.dilation), 0, pairs, pairs}, weights.kernels);
  TileEnd end;
  end.scale = 1.0F / static_cast<float>(tiling->tile_voxels());
  end.bias = weights.bias.empty() ? nullptr : weights.bias.data();
  end.act = act_of(conv.activation.kind);
  end.alpha = conv.activation.alpha;
  if (conv.residual) {
    end.residual = residual.view().data;
    end.residual_steps = steps_of(residual.view().strides);
  }
  const Index tiles = tiling->chunk_tiles;
  for (Index chunk = 0; chunk < tiling->chunks; ++chunk) {
    const auto arg = [&](const TensorView& view, Extent rows) {
      return TileArg{tiling->grid,
                     view.shape.f,
                     extent_of(view.shape.n),
                     steps_of(view.strides),
                     chunk * tiles * view.shape.f,
                     tiles * view.shape.f,
                     rows};
    };
    const Spectra inputs = forward(arg(in.view(), tiling->grid.tile), tiles, in.view().data);
    Spectra outputs = multiply(conv, tiles, kernels, inputs);
    back(arg(out.view(), tiling->grid.kept), end, tiles, outputs, out.view().data);
  }
  std::vector<oracle::Values> exact;
  for (const Floats& value : values) exact.push_back(oracle::widened(value));
  test::expect_close(out.load(), oracle::oracle_run(conv, exact, weights.view()),
                     oracle::tolerance(conv, exact, weights.view()), "tiles of 32");
}

TEST(Fft32, RandomConvolutionsEqualTheOracle) {
  for (int i = 0; i < test::case_count(8); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    ConvProblem conv = test::random_conv(random, 2e5);
    conv.in.f = std::min<std::int64_t>(conv.in.f, 11);
    conv.f_out = std::min<std::int64_t>(conv.f_out, 9);
    check_convolution(conv, seed);
  }
}

TEST(Fft32, ChannelsOfSeveralTilesAndChunksEqualTheOracle) {
  check_convolution({{1, 2, {40, 33, 36}}, 3, {4, 3, 2}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0.0F}, true}, 3);
  check_convolution({{2, 1, {3, 40, 61}}, 2, {2, 5, 1}, {1, 2, 1}, {1, 1, 1}, {}, false}, 4);
}

}  // namespace
}  // namespace znni::cuda
