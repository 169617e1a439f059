#include "server/pipeline/prepared_rung.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

using test::Random;
using testing::HasSubstr;

class PreparedRungTest : public testing::Test {
 protected:
  PreparedRungTest() {
    const Backend* const rows[] = {&test::oracle_backend()};
    catalogue_ = Catalogue::make(rows).value();
  }

  RungDesign design(const Network& network, std::uint64_t seed = 1, bool streamed = false) {
    Random random(seed);
    const std::optional<GeometryChoice> stream = streamed ? test::random_stream(network, random) : std::nullopt;
    const GeometryChoice choice = stream ? *stream : test::random_choice(network, random, 2);
    plan_ = test::hand_plan(network, {choice}, catalogue_, device_->spec(), random).value();
    Result<RungDesign> made = design_rung(network, plan_.ladder[0], catalogue_, device_->spec());
    ensure(made.has_value(), made ? "" : made.error().message);
    return std::move(*made);
  }

  static void fill(const TensorView& input) {
    for (std::int64_t image = 0; image < input.shape.S * input.shape.f; ++image) {
      std::fill_n(input.image(image / input.shape.f, image % input.shape.f), voxels(input.shape.n), 0.5F);
    }
  }

  std::unique_ptr<Device> device_ = test::host_device(std::int64_t{1} << 30);
  Catalogue catalogue_;
  Plan plan_;
};

TEST_F(PreparedRungTest, EveryArenaReachesExactlyWhatItsCallDeclared) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const Network network = test::random_network(random, 12);
    const NetworkWeights weights = random_weights(network, seed);
    RungDesign made = design(network, seed, i % 2 == 1);
    const std::size_t calls = made.schedule.calls.size();
    const Result<Reservation> block = device_->reserve(MemorySpace::host, made.packing.bytes, "test");
    Result<PreparedRung> rung = PreparedRung::open(std::move(made), weights, block->data(), *device_, true);
    ASSERT_TRUE(rung) << rung.error().message;
    EXPECT_EQ(rung->persistent_bytes(), plan_.memory.persistent);
    EXPECT_EQ(block->bytes(), plan_.memory.transient);
    fill(rung->input());
    ASSERT_TRUE(rung->run_pass(0, {}));
    ASSERT_EQ(rung->call_memory().size(), calls);
    for (const PreparedRung::CallMemory& call : rung->call_memory()) {
      EXPECT_EQ(call.high_water, call.declared_peak);
    }
  }
}

TEST_F(PreparedRungTest, ScratchThatIsPoisonedBetweenCallsDoesNotReachTheOutput) {
  const Network network = test::simple_network(2);
  const NetworkWeights weights = random_weights(network, 1);
  RungDesign made = design(network);
  const Result<Reservation> block = device_->reserve(MemorySpace::host, made.packing.bytes, "test");
  Result<PreparedRung> rung = PreparedRung::open(std::move(made), weights, block->data(), *device_, true);
  ASSERT_TRUE(rung);
  for (int run = 0; run < 2; ++run) {
    std::fill_n(rung->input().data, elements(rung->input().shape), 1.0F);
    ASSERT_TRUE(rung->run_pass(0, {}));
    const float* out = rung->output().data;
    EXPECT_TRUE(std::all_of(out, out + elements(rung->output().shape), [](float x) { return std::isfinite(x); }));
  }
}

TEST_F(PreparedRungTest, TensorsLieInsideTheBlockAndOpeningLeavesItAlone) {
  const Network network = test::simple_network(2);
  const NetworkWeights weights = random_weights(network, 1);
  RungDesign made = design(network);
  const Result<Reservation> block = device_->reserve(MemorySpace::host, made.packing.bytes, "test");
  Result<PreparedRung> rung = PreparedRung::open(std::move(made), weights, block->data(), *device_);
  ASSERT_TRUE(rung);
  EXPECT_TRUE(std::all_of(block->data(), block->data() + block->bytes(), [](std::byte x) { return x == std::byte{}; }));
  for (const TensorView& tensor : {rung->input(), rung->output()}) {
    const auto* first = reinterpret_cast<const std::byte*>(tensor.data);
    EXPECT_GE(first, block->data());
    EXPECT_LE(first + tensor_bytes(tensor.shape, tensor.format), block->data() + block->bytes());
  }
}

TEST_F(PreparedRungTest, StopsBetweenCalls) {
  const Network network = test::simple_network(1);
  const NetworkWeights weights = random_weights(network, 1);
  RungDesign made = design(network);
  const Result<Reservation> block = device_->reserve(MemorySpace::host, made.packing.bytes, "test");
  Result<PreparedRung> rung = PreparedRung::open(std::move(made), weights, block->data(), *device_);
  ASSERT_TRUE(rung);
  std::stop_source stop;
  stop.request_stop();
  const Result<void> ran = rung->run_pass(0, stop.get_token());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::cancelled);
}

TEST_F(PreparedRungTest, RefusesWhenPersistentMemoryIsNotThere) {
  const Network network = test::simple_network(1);
  const NetworkWeights weights = random_weights(network, 1);
  RungDesign made = design(network);
  std::vector<std::byte> block(static_cast<std::size_t>(made.packing.bytes) + 64);
  const std::unique_ptr<Device> tight = test::host_device(plan_.memory.persistent - 1);
  const Result<PreparedRung> rung = PreparedRung::open(std::move(made), weights, block.data(), *tight);
  ASSERT_FALSE(rung);
  EXPECT_EQ(rung.error().code, ErrorCode::over_budget);
  EXPECT_THAT(rung.error().message, HasSubstr("bias copy"));
}

}  // namespace
}  // namespace znni
