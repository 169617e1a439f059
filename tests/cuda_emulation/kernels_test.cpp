// Every kernel that has barriers, on small shapes: for the thread sanitizer, which runs each thread of a block on a
// thread of the host, and beside it for what the kernels compute.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "primitives/cuda/kernels/fft32_kernel.hpp"
#include "primitives/cuda/kernels/fft_kernel.hpp"
#include "primitives/cuda/kernels/first_pool_kernel.hpp"
#include "primitives/cuda/kernels/moments_kernel.hpp"
#include "primitives/cuda/kernels/products_kernel.hpp"
#include "primitives/cuda/kernels/reorder_kernel.hpp"
#include "primitives/cuda/kernels/stack_kernel.hpp"
#include "primitives/gpu/elementwise/moments_view.hpp"
#include "primitives/gpu/fft32.hpp"
#include "primitives/gpu/first_pool_view.hpp"
#include "primitives/gpu/first_view.hpp"
#include "primitives/gpu/stack_view.hpp"
#include "primitives/gpu/views.hpp"
#include "tests/cuda_emulation/device_array.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/products_check.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

using cuda_emulation::DeviceArray;

constexpr Index channels = 9;  // two groups of eight, the second nearly empty

std::size_t count_of(Index count) { return static_cast<std::size_t>(count); }

// Returns the values of a dense tensor in planar order.
std::vector<float> planar(std::vector<float> values, const Shape5& shape, Format format) {
  const TensorView view = dense_view(values.data(), shape, format);
  std::vector<float> ordered;
  for (Index channel = 0; channel < shape.S * shape.f; ++channel) {
    for (Index voxel = 0; voxel < voxels(shape.n); ++voxel) {
      const Vec3 at = {voxel / (shape.n.y * shape.n.x), voxel / shape.n.x % shape.n.y, voxel % shape.n.x};
      const Index offset = channel / shape.f * view.strides.S + channel % shape.f * view.strides.f +
                           at.z * view.strides.z + at.y * view.strides.y + at.x * view.strides.x;
      ordered.push_back(values[count_of(offset)]);
    }
  }
  return ordered;
}

// Returns one tile at the origin of a tensor of extents `n`, all of its channels.
TileArg one_tile(Extent n) {
  const Extent tile{32, 32, 32};
  const Extent kept{30, 30, 30};
  const Steps steps{channels * voxels_of(n), voxels_of(n), n.y * n.x, n.x, 1};
  return {{1, tile, kept, {1, 1, 1}}, channels, n, steps, 0, channels, tile};
}

std::size_t spectra_count() { return count_of(fft32_points * fft32_points * fft32_half * channels); }

TEST(EmulatedKernels, TransformsOf32ThereAndBackAreTheInput) {
  const Extent n{2, 20, 29};
  test::Random random(1);
  const std::vector<float> values = random.normals(channels * voxels_of(n));
  const DeviceArray<float> in(values);
  const DeviceArray<float> out(values.size());
  const DeviceArray<float2> spectra(spectra_count());
  TileArg arg = one_tile(n);
  ASSERT_EQ(launch_fft32(arg, 1, in.data(), spectra.data(), nullptr), cudaSuccess);
  arg.row_extent = n;
  TileEnd end;
  end.scale = 1.0F / 32768;
  ASSERT_EQ(launch_fft32_back(arg, end, 1, spectra.data(), out.data(), nullptr), cudaSuccess);
  const std::vector<float> found = out.values();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(found[i], values[i], 1e-5F) << i;
}

// A kernel is a channel that fills a corner of its tile.
TEST(EmulatedKernels, TransformsOfKernelsAreThoseOfSmallChannels) {
  const Extent k{1, 2, 3};
  test::Random random(2);
  const DeviceArray<float> in(random.normals(channels * voxels_of(k)));
  const DeviceArray<float2> of_channels(spectra_count());
  const DeviceArray<float2> of_kernels(spectra_count());
  ASSERT_EQ(launch_fft32(one_tile(k), 1, in.data(), of_channels.data(), nullptr), cudaSuccess);
  const KernelTileArg arg{{32, 32, 32}, k, {1, 1, 1}, 0, channels, channels};
  ASSERT_EQ(launch_fft32_kernels(arg, in.data(), of_kernels.data(), nullptr), cudaSuccess);
  const std::vector<float2> expected = of_channels.values();
  const std::vector<float2> found = of_kernels.values();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(found[i].x == expected[i].x && found[i].y == expected[i].y) << i;
  }
}

// A block fills its square three times.
TEST(EmulatedKernels, TransposesMoveEveryElement) {
  const Index rows = 45;
  const Index columns = 70;
  std::vector<float2> values(count_of(rows * columns));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = {static_cast<float>(i), static_cast<float>(i % 7)};
  const DeviceArray<float2> from(values);
  const DeviceArray<float2> to(values.size());
  ASSERT_EQ(launch_transpose({rows, columns, columns, rows}, from.data(), to.data(), nullptr, 1), cudaSuccess);
  const std::vector<float2> found = to.values();
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column) {
      ASSERT_EQ(found[count_of(column * rows + row)].x, values[count_of(row * columns + column)].x) << column;
    }
  }
}

void check_first_pool(std::int64_t window_z) {
  const ConvProblem conv{{1, 1, {6, 20, 34}},       17,   Vec3::cube(2), {1, 1, 1}, {1, 1, 1},
                         {ActivationKind::relu, 0}, false};
  const Vec3 window{window_z, 2, 2};
  const ConvPoolProblem both{
      conv, {.in = output_shape(conv), .window = window, .stride = window, .mode = PoolMode::fragments}};
  ASSERT_TRUE(check(both)) << check(both).error().message;
  test::Random random(3);
  const test::Weights weights = test::random_weights(both, random);
  const std::vector<std::vector<float>> inputs = test::random_inputs(both, random);
  std::vector<float> bias = weights.bias;
  bias.resize(count_of(first_padded(conv.f_out)));
  const DeviceArray<float> in(inputs[0]);
  const DeviceArray<float> kernels(first_weights(conv, weights.kernels));
  const DeviceArray<float> shifts(bias);
  const DeviceArray<float> out(count_of(elements(output_shape(both))));
  const FirstPoolArg arg =
      first_pool_arg(both, dense_view(in.data(), conv.in), dense_view(out.data(), output_shape(both)));
  ASSERT_EQ(launch_first_pool(arg, Storage::f32, in.data(), kernels.data(), shifts.data(), out.data(), nullptr),
            cudaSuccess);
  const std::vector<oracle::Values> exact = {oracle::widened(inputs[0])};
  test::expect_close(out.values(), oracle::oracle_run(both, exact, weights.view()),
                     oracle::tolerance(both, exact, weights.view()), "first layer, pooled");
}

TEST(EmulatedKernels, FirstLayersThatArePooledEqualTheOracle) {
  for (const std::int64_t window_z : {1, 2, 3}) check_first_pool(window_z);
}

// Returns the spectrum in device memory.
DeviceArray<float2> on_device(const test::Spectrum& spectrum) {
  std::vector<float2> values(spectrum.size());
  std::memcpy(values.data(), spectrum.data(), spectrum.size() * sizeof(float2));
  return DeviceArray<float2>(values);
}

// Rows and columns that fill no tile; more channels than shared memory holds; few of all; lengths of rows even and odd.
TEST(EmulatedKernels, ProductsKeepTheBoundOfFloat32) {
  test::Random random(4);
  for (const test::ProductCase& of :
       {test::ProductCase{90, 75, 50, 1}, {9, 33, 17, 3}, {8, 16, 33, 2}, {1, 1, 1, 5}, {6, 2, 3, 2}}) {
    const test::Spectrum kernels = test::random_spectrum(of.frequencies * of.f_out * of.f, random);
    const test::Spectrum inputs = test::random_spectrum(of.frequencies * of.tiles * of.f, random);
    const DeviceArray<float2> from = on_device(kernels);
    const DeviceArray<float2> tiles = on_device(inputs);
    const DeviceArray<float2> out(count_of(of.frequencies * of.tiles * of.f_out));
    const SpectraProduct product{of.f, of.f_out, of.tiles, of.frequencies, from.data(), tiles.data(), out.data()};
    ASSERT_EQ(launch_products(product, nullptr), cudaSuccess);
    const std::vector<float2> found = out.values();
    test::Spectrum outputs(found.size());
    std::memcpy(outputs.data(), found.data(), found.size() * sizeof(float2));
    EXPECT_LE(test::product_error(of, kernels, inputs, outputs), test::product_bound(of.f)) << of.f;
  }
}

// Squares of 32 voxels by 32 channels: more than one along both axes, the last ones partly filled.
TEST(EmulatedKernels, ReordersThereAndBackAreTheInput) {
  const Extent n{1, 2, 41};
  const Index f = 37;
  const Steps planar{f * voxels_of(n), voxels_of(n), n.y * n.x, n.x, 1};
  const Steps last{f * voxels_of(n), 1, f * n.y * n.x, f * n.x, f};
  std::vector<float> values(count_of(f * voxels_of(n)));
  std::iota(values.begin(), values.end(), 1.0F);
  const DeviceArray<float> in(values);
  const DeviceArray<float> between(values.size());
  const DeviceArray<float> out(values.size());
  const ReorderArg there{1, f, n, planar, last, true, false};
  const ReorderArg back{1, f, n, last, planar, false, true};
  ASSERT_EQ(launch_reorder(there, Storage::f32, in.data(), Storage::f32, between.data(), nullptr), cudaSuccess);
  ASSERT_EQ(launch_reorder(back, Storage::f32, between.data(), Storage::f32, out.data(), nullptr), cudaSuccess);
  EXPECT_EQ(out.values(), values);
  const std::vector<float> moved = between.values();
  for (std::size_t channel = 0; channel < count_of(f); ++channel) {
    EXPECT_EQ(moved[40 * count_of(f) + channel], values[channel * count_of(voxels_of(n)) + 40]) << channel;
  }
}

// Groups of more channels than a block has threads.
TEST(EmulatedKernels, NormalisationsEqualTheOracle) {
  for (const Format format : {Format(), Format{ElementType::f32, Layout::channels_last}}) {
    const NormProblem norm{{2, 300, {2, 3, 5}}, 1};
    test::Random random(5);
    const test::Weights weights = test::random_weights(norm, random);
    const std::vector<float> values = random.normals(elements(norm.in));
    const DeviceArray<float> in(values);
    const DeviceArray<float> scale(weights.scale);
    const DeviceArray<float> shift(weights.shift);
    const DeviceArray<float> out(values.size());
    GroupsArg groups = groups_arg(norm);
    groups.scale = scale.data();
    groups.shift = shift.data();
    const TensorView from = dense_view(in.data(), norm.in, format);
    const DeviceArray<Moments> parts(count_of(2 * 300 * moments_parts(norm.in)));
    const DeviceArray<ChannelFactors> factors(2 * 300);
    ASSERT_EQ(launch_moments(moments_arg(from, Joining::sums), Storage::f32, in.data(), parts.data(), nullptr),
              cudaSuccess);
    ASSERT_EQ(launch_groups(groups, parts.data(), factors.data(), nullptr), cudaSuccess);
    const FactorsArg last = factors_arg(&from, dense_view(out.data(), norm.in, format), factors.data(), {});
    ASSERT_EQ(launch_factors(last, Storage::f32, nullptr), cudaSuccess);
    const std::vector<oracle::Values> exact = {oracle::widened(planar(values, norm.in, format))};
    test::expect_close(planar(out.values(), norm.in, format), oracle::oracle_run(norm, exact, weights.view()),
                       oracle::tolerance(norm, exact, weights.view()), "normalisation");
  }
}

// Several tiles per channel, windows along all axes, three poolings in a launch.
TEST(EmulatedKernels, StacksEqualTheOracle) {
  StackStage pool{StackOperation::pool, PoolKind::max, {2, 3, 2}, {1, 1, 0}, {0, 1, 1}};
  const StackProblem stack{{2, 3, {19, 18, 70}}, {pool, {StackOperation::scale_shift}, pool, pool}, {1, 0, 1}};
  test::Random random(6);
  const test::Weights weights = test::random_weights(stack, random);
  const std::vector<float> values = random.normals(elements(stack.in));
  const std::vector<oracle::Values> exact = {oracle::widened(values)};
  const DeviceArray<float> in(values);
  const DeviceArray<float> scale(weights.scale);
  const DeviceArray<float> shift(weights.shift);
  const DeviceArray<float> out(count_of(elements(output_shape(stack))));
  const std::vector<StackChunk> chunks = stack_chunks(stack, 3, Layout::planar);
  ASSERT_EQ(chunks.size(), 1U);
  StackArg arg = stack_arg(stack, chunks[0], {}, {scale.data(), shift.data()}, 0);
  arg.in_steps = steps_of(dense_view(in.data(), stack.in).strides);
  arg.out_steps = steps_of(dense_view(out.data(), output_shape(stack)).strides);
  ASSERT_EQ(launch_stack(arg, Storage::f32, in.data(), out.data(), nullptr), cudaSuccess);
  test::expect_close(out.values(), oracle::oracle_run(stack, exact, weights.view()),
                     oracle::tolerance(stack, exact, weights.view()), "stack");
}

}  // namespace
}  // namespace znni::cuda
