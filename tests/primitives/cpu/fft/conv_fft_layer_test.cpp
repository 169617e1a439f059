#include "primitives/cpu/fft/conv_fft_layer.hpp"

#include <gtest/gtest.h>

#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/fft/conv_fft_memory.hpp"

namespace znni::cpu {
namespace {

std::unique_ptr<Device> open_device(int threads) {
  Result<std::unique_ptr<Device>> device = backend().open(describe_cpu(threads), 1 << 24, 0, 0);
  return std::move(device.value());
}

// Grants the tiles of a layer.
struct Granted {
  Granted(Device& device, std::int64_t bytes)
      : reservation(device.reserve(MemorySpace::host, bytes, "tiles").value()),
        arena({{{std::string(line_tiles), MemorySpace::host, bytes, Lifetime::plan()}, reservation.data()}}) {}
  Reservation reservation;
  Arena arena;
};

ConvProblem small_problem() {
  ConvProblem problem;
  problem.in = {1, 3, {6, 7, 9}};
  problem.f_out = 2;
  problem.k = {2, 3, 4};
  return problem;
}

TEST(ConvFftLayer, GivesEveryWorkerTilesOfItsOwn) {
  const std::unique_ptr<Device> device = open_device(3);
  const ConvProblem problem = small_problem();
  Granted granted(*device, persistent_bytes(task_parallel_memory(problem, 3)));
  Result<ConvFftLayer> layer = ConvFftLayer::make(problem, {}, granted.arena, *device);
  ASSERT_TRUE(layer) << layer.error().message;
  const Complex* expected = reinterpret_cast<const Complex*>(granted.reservation.data());
  for (int worker = 0; worker < 3; ++worker) {
    for (int index = 0; index < tiles_per_worker; ++index) {
      const std::span<Complex> tile = layer->tile(worker, index);
      EXPECT_EQ(tile.data(), expected) << "worker " << worker << ", tile " << index;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tile.data()) % fft_alignment, 0U);
      expected += tile.size();
    }
  }
  EXPECT_EQ(reinterpret_cast<const std::byte*>(expected), granted.reservation.data() + granted.reservation.bytes());
}

TEST(ConvFftLayer, FindsKernelsAndBiases) {
  const std::unique_ptr<Device> device = open_device(1);
  const ConvProblem problem = small_problem();
  Granted granted(*device, persistent_bytes(task_parallel_memory(problem, 1)));
  std::vector<float> kernels(2 * 3 * 24);
  for (std::size_t e = 0; e < kernels.size(); ++e) kernels[e] = static_cast<float>(e);
  const std::vector<float> bias = {5.0F, 6.0F};
  Result<ConvFftLayer> layer = ConvFftLayer::make(problem, {kernels, bias, {}, {}}, granted.arena, *device);
  ASSERT_TRUE(layer) << layer.error().message;
  EXPECT_EQ(*layer->kernel(1, 2).data, (1 * 3 + 2) * 24);
  EXPECT_EQ(layer->kernel(1, 2).step, (Vec3{12, 4, 1}));
  EXPECT_EQ(layer->finish({}, 0, 1).epilogue.bias, 6.0F);
  EXPECT_EQ(layer->finish({}, 0, 1).residual.data, nullptr);
  EXPECT_FLOAT_EQ(layer->finish({}, 0, 0).epilogue.scale, 1.0F / static_cast<float>(voxels(fft_extent(problem.in.n))));
  EXPECT_EQ(layer->elements(), transform_elements(fft_extent(problem.in.n)));
}

TEST(ConvFftLayer, FindsTheResidualOfAChannel) {
  const std::unique_ptr<Device> device = open_device(1);
  ConvProblem problem = small_problem();
  problem.in.S = 2;
  problem.residual = true;
  Granted granted(*device, persistent_bytes(task_parallel_memory(problem, 1)));
  Result<ConvFftLayer> layer = ConvFftLayer::make(problem, {}, granted.arena, *device);
  ASSERT_TRUE(layer) << layer.error().message;
  std::vector<float> values(static_cast<std::size_t>(elements(output_shape(problem))));
  const TensorView inputs[] = {{}, dense_view(values.data(), output_shape(problem), {})};
  const ConstVoxels residual = layer->finish(inputs, 1, 1).residual;
  EXPECT_EQ(residual.data, values.data() + 3 * 5 * 5 * 6);
  EXPECT_EQ(residual.step, (Vec3{30, 6, 1}));
}

TEST(AsConvolution, RefusesOtherProblemsInWords) {
  const Result<ConvProblem> refused = as_convolution("cpu.conv.some", PoolProblem{{1, 1, {4, 4, 4}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("cpu.conv.some computes convolutions, not: max pool"), std::string::npos)
      << refused.error().message;
}

TEST(ShareBegin, CutsWithoutGapsAndEvenly) {
  for (std::int64_t parts = 1; parts < 9; ++parts) {
    for (std::int64_t count = 0; count < 40; ++count) {
      EXPECT_EQ(share_begin(count, 0, parts), 0);
      EXPECT_EQ(share_begin(count, parts, parts), count);
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t size = share_begin(count, part + 1, parts) - share_begin(count, part, parts);
        EXPECT_GE(size, count / parts);
        EXPECT_LE(size, div_up(count, parts));
      }
    }
  }
}

}  // namespace
}  // namespace znni::cpu
