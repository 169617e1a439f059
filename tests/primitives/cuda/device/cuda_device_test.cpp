#include "primitives/cuda/device/cuda_device.hpp"

#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "tests/primitives/cuda/require_gpu.hpp"

namespace znni::cuda {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Bytes counting(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i % 251);
  return bytes;
}

TEST(CudaDevice, BudgetsThatMakeNoSenseAreRefusedBeforeAnyCall) {
  for (const std::int64_t budget : {std::int64_t{-1}, h200().memory_bytes + 1}) {
    const Result<std::unique_ptr<CudaDevice>> device = open_cuda_device(h200(), 0, 0, budget, 1);
    ASSERT_FALSE(device.has_value());
    EXPECT_EQ(device.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(device.error().message, HasSubstr(std::to_string(budget)));
  }
}

TEST(CudaDevice, WithoutADriverOpeningFailsInWords) {
  if (!read_gpus().empty()) GTEST_SKIP() << "there is a GPU";
  const Result<std::unique_ptr<CudaDevice>> device = open_cuda_device(h200(), 0, 0, 1 << 20, 1);
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().code, ErrorCode::device_failure);
  EXPECT_THAT(device.error().message, HasSubstr("NVIDIA H200"));
}

TEST(CudaDevice, StagingTakesNoMoreProcessorsThanThereAre) {
  EXPECT_EQ(staging_threads(1), 1);
  EXPECT_EQ(staging_threads(3), 3);
  EXPECT_EQ(staging_threads(64), 8);
}

class CudaDeviceOnGpu : public OnGpu {};

// The device has as many as the opener says, not as the machine has.
TEST_F(CudaDeviceOnGpu, HostThreadsAreThoseThatItWasGiven) { EXPECT_EQ(device_->executor().workers(), 2); }

TEST_F(CudaDeviceOnGpu, BudgetIsHardInEverySpace) {
  for (const MemorySpace space : {MemorySpace::host, MemorySpace::pinned, MemorySpace::device}) {
    const std::int64_t budget = device_->budget(space);
    {
      const Result<Reservation> half = device_->reserve(space, budget / 2, "half");
      ASSERT_TRUE(half.has_value()) << half.error().message;
      EXPECT_EQ(device_->reserved(space), budget / 2);
      const Result<Reservation> more = device_->reserve(space, budget / 2 + 4096, "too much");
      ASSERT_FALSE(more.has_value());
      EXPECT_EQ(more.error().code, ErrorCode::over_budget);
      EXPECT_THAT(more.error().message, HasSubstr("too much"));
    }
    EXPECT_EQ(device_->reserved(space), 0);
  }
}

TEST_F(CudaDeviceOnGpu, RowsTravelThereAndBack) {
  const std::int64_t rows = 5;
  const std::int64_t bytes = 1000;
  const std::int64_t step = 1536;
  Result<Reservation> pinned = device_->reserve(MemorySpace::pinned, rows * bytes, "pinned");
  Result<Reservation> back = device_->reserve(MemorySpace::pinned, rows * bytes, "back");
  Result<Reservation> memory = device_->reserve(MemorySpace::device, 2 * rows * step, "device");
  ASSERT_TRUE(pinned && back && memory);
  const Bytes sent = counting(static_cast<std::size_t>(rows * bytes));
  std::copy(sent.begin(), sent.end(), pinned->data());
  const Result<Event> up = device_->make_event();
  const Result<Event> done = device_->make_event();
  ASSERT_TRUE(up && done);
  ASSERT_TRUE(device_->fill(Stream::upload, {memory->data(), static_cast<std::size_t>(2 * rows * step)}, std::byte{9}));
  ASSERT_TRUE(device_->upload(Stream::upload, memory->data(), pinned->data(), {bytes, rows, step, bytes}));
  ASSERT_TRUE(device_->record(Stream::upload, *up));
  ASSERT_TRUE(device_->wait(Stream::compute, *up));
  std::byte* const second = memory->data() + rows * step;
  ASSERT_TRUE(device_->copy(Stream::compute, second, memory->data(), {bytes, rows, step, step}));
  ASSERT_TRUE(device_->record(Stream::compute, *done));
  ASSERT_TRUE(device_->wait(Stream::download, *done));
  ASSERT_TRUE(device_->download(Stream::download, back->data(), second, {bytes, rows, bytes, step}));
  ASSERT_TRUE(device_->synchronise());
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), back->data()));
  const Result<double> seconds = device_->seconds_between(*up, *done);
  ASSERT_TRUE(seconds.has_value());
  EXPECT_GE(*seconds, 0.0);
  Bytes gap(1);
  ASSERT_TRUE(device_->read(gap, memory->data() + bytes));
  EXPECT_EQ(gap[0], std::byte{9}) << "between the rows";
}

// The first row and the last voxels of a channel of two rows are outside.
TEST_F(CudaDeviceOnGpu, SetsWhatIsOutside) {
  const std::vector<float> before = {1, 2, 3, 4, 5, 6, 7, 8};
  Result<Reservation> memory = device_->reserve(MemorySpace::device, 32, "device");
  ASSERT_TRUE(memory.has_value());
  const TensorView view = dense_view(reinterpret_cast<float*>(memory->data()), {1, 1, {1, 2, 4}});
  OutsideFill fill{view, OutsideRule::value, {InsideAxis{0, 1, 0, 1}, {1, 9, 1, 2}, {-1, 2, 0, 2}}, 0, -9.0F};
  const std::map<OutsideRule, std::vector<float>> expected = {{OutsideRule::value, {-9, -9, -9, -9, 5, 6, -9, -9}},
                                                              {OutsideRule::nearest, {5, 6, 6, 6, 5, 6, 6, 6}},
                                                              {OutsideRule::reflected, {-9, -9, -9, -9, 5, 6, 5, -9}}};
  for (const auto& [rule, after] : expected) {
    fill.rule = rule;
    ASSERT_TRUE(device_->write(memory->data(), std::as_bytes(std::span(before))));
    ASSERT_TRUE(device_->fill_outside(Stream::compute, fill));
    std::vector<float> found(before.size());
    ASSERT_TRUE(device_->read(std::as_writable_bytes(std::span(found)), memory->data()));
    EXPECT_EQ(found, after) << static_cast<int>(rule);
  }
}

TEST_F(CudaDeviceOnGpu, PlainMemoryIsWrittenAndRead) {
  Result<Reservation> memory = device_->reserve(MemorySpace::device, 1 << 20, "device");
  ASSERT_TRUE(memory.has_value());
  const Bytes sent = counting(1 << 20);
  ASSERT_TRUE(device_->write(memory->data(), sent));
  Bytes back(1 << 20);
  ASSERT_TRUE(device_->read(back, memory->data()));
  EXPECT_EQ(back, sent);
}

TEST_F(CudaDeviceOnGpu, LibrariesAndTheirOverheadAreKnown) {
  EXPECT_TRUE(device_->blas().has_value());
  EXPECT_TRUE(device_->dnn().has_value());
  const Result<std::int64_t> bytes = device_->overhead_bytes();
  ASSERT_TRUE(bytes.has_value());
  RecordProperty("overhead_mebibytes", static_cast<int>(*bytes >> 20));
}

// The budget is taken when the device is opened: what is left cannot hold it twice.
TEST_F(CudaDeviceOnGpu, MoreThanIsFreeIsRefused) {
  const GpuProperties gpu = read_gpus().front();
  const Result<std::unique_ptr<CudaDevice>> second = open_cuda_device(gpu, 0, 0, gpu.memory_bytes, 1);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::over_budget);
}

}  // namespace
}  // namespace znni::cuda
