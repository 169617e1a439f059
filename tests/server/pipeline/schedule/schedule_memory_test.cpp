#include "server/pipeline/schedule/schedule_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/pipeline/oracle_primitive.hpp"

namespace znni {
namespace {

using testing::ElementsAre;

// Two tensors that are alive together, and the spectra of a layer.
class ScheduleMemoryTest : public testing::Test {
 protected:
  ScheduleMemoryTest() {
    schedule_.memory = {{"a", MemorySpace::host, 256, {0, 1}}, {"b", MemorySpace::host, 512, {0, 1}}};
    Buffer kept{"spectra", MemorySpace::host, 128, {}};
    kept.lifetime.persistent = true;
    schedule_.memory.push_back(kept);
    call_.estimate.memory = {schedule_.memory[2], schedule_.memory[0]};
    call_.buffers = {2, 0};
    packing_ = pack(schedule_.memory);
  }

  const std::unique_ptr<Device> device_ = test::host_device(std::int64_t{1} << 20);
  const ScheduleMemory::MemoryDevice memory_device_ = [this](MemorySpace) -> Device& { return *device_; };
  Schedule schedule_;
  Call call_;
  Packing packing_;
};

TEST_F(ScheduleMemoryTest, ReservesWhatTheScheduleDeclaresAndGivesItBack) {
  {
    const Result<ScheduleMemory> memory = ScheduleMemory::reserve(schedule_, memory_device_);
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_EQ(device_->reserved(MemorySpace::host), packing_.bytes + 128);
    EXPECT_EQ(memory->persistent_bytes(), 128);
    EXPECT_EQ(memory->place(1) - memory->place(0), packing_.offsets[1] - packing_.offsets[0]);
    EXPECT_NE(memory->place(2), nullptr);
  }
  EXPECT_EQ(device_->reserved(MemorySpace::host), 0);
}

TEST_F(ScheduleMemoryTest, LaysTransientBuffersOutInABlockOfTheCallers) {
  std::vector<std::byte> block(static_cast<std::size_t>(packing_.bytes), std::byte{7});
  const Result<ScheduleMemory> memory =
      ScheduleMemory::reserve_beside(schedule_, packing_, block.data(), memory_device_);
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_EQ(device_->reserved(MemorySpace::host), 128) << "what is persistent";
  EXPECT_EQ(memory->place(0), block.data() + packing_.offsets[0]);
  EXPECT_EQ(memory->place(1), block.data() + packing_.offsets[1]);
  EXPECT_THAT(block, testing::Each(std::byte{7}));
}

TEST_F(ScheduleMemoryTest, TellsWhereTensorsAndTheBuffersOfACallLie) {
  const ScheduleMemory memory = ScheduleMemory::reserve(schedule_, memory_device_).value();
  const TensorView view = memory.view({{1, 2, {2, 2, 2}}, {}, 1, {}});
  EXPECT_EQ(reinterpret_cast<std::byte*>(view.data), memory.place(1));
  EXPECT_EQ(view.shape, (Shape5{1, 2, {2, 2, 2}}));
  EXPECT_TRUE(view.is_dense());
  const std::vector<Placement> placements = memory.placements(call_);
  ASSERT_EQ(placements.size(), 2U);
  EXPECT_EQ(placements[0].buffer.name, "spectra");
  EXPECT_EQ(placements[0].data, memory.place(2));
  EXPECT_EQ(placements[1].data, memory.place(0));
}

TEST_F(ScheduleMemoryTest, FailsWhereTheDeviceHasTooLittle) {
  const std::unique_ptr<Device> tight = test::host_device(packing_.bytes + 127);
  const auto memory_device = [&tight](MemorySpace) -> Device& { return *tight; };
  EXPECT_EQ(ScheduleMemory::reserve(schedule_, memory_device).error().code, ErrorCode::over_budget);
  EXPECT_EQ(tight->reserved(MemorySpace::host), 0);
}

TEST(WeightsOf, ACallHasThoseOfItsNodeAndAReorderNone) {
  const std::vector<NodeWeights> weights = {{{1, 2}, {3}, {}, {}}, {{4, 5}, {6}, {}, {}}};
  Call call;
  EXPECT_THAT(weights_of(call, 1, weights, {}).kernels, ElementsAre(4, 5));
  EXPECT_THAT(weights_of(call, 1, weights, {}).bias, ElementsAre(6));
  const std::vector<float> turned = {5, 4};
  const std::vector<std::span<const float>> swapped = {{}, turned};
  EXPECT_THAT(weights_of(call, 1, weights, swapped).kernels, ElementsAre(5, 4));
  EXPECT_THAT(weights_of(call, 1, weights, swapped).bias, ElementsAre(6));
  EXPECT_TRUE(weights_of(call, -1, weights, {}).kernels.empty()) << "of the input";
  call.is_reorder = true;
  EXPECT_TRUE(weights_of(call, 1, weights, swapped).kernels.empty());
}

}  // namespace
}  // namespace znni
