#include "primitives/core/device.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

// Counts the bytes that are given back.
class CountingDevice final : public Device {
 public:
  [[nodiscard]] const DeviceSpec& spec() const override { return spec_; }
  [[nodiscard]] Executor& executor() override { return executor_; }
  [[nodiscard]] Result<Reservation> reserve(MemorySpace space, std::int64_t bytes, std::string_view) override {
    out_ += bytes;
    return Reservation(*this, space, {memory_.data(), static_cast<std::size_t>(bytes)});
  }
  [[nodiscard]] std::int64_t budget(MemorySpace) const override { return 100; }
  [[nodiscard]] std::int64_t reserved(MemorySpace) const override { return out_; }

 private:
  void give_back(MemorySpace, std::span<std::byte> block) override { out_ -= static_cast<std::int64_t>(block.size()); }

  DeviceSpec spec_;
  Executor executor_{1};
  std::vector<std::byte> memory_{100};
  std::int64_t out_ = 0;
};

TEST(DeviceSpec, OneSocketHasItsShareOfTheRatesAndANameOfItsOwn) {
  DeviceSpec machine;
  machine.name = "machine";
  EXPECT_EQ(of_one_socket(machine), machine);
  machine.threads = 8;
  machine.flops_per_second = 8e9;
  machine.bytes_per_second = 4e9;
  machine.sockets = 2;
  const DeviceSpec socket = of_one_socket(machine);
  EXPECT_EQ(socket.name, "machine, one of 2 sockets");
  EXPECT_EQ(socket.threads, 4);
  EXPECT_EQ(socket.flops_per_second, 4e9);
  EXPECT_EQ(socket.bytes_per_second, 2e9);
  EXPECT_EQ(socket.sockets, 1);
  EXPECT_TRUE(socket.is_socket);
  EXPECT_EQ(of_one_socket(socket), socket);
}

TEST(Reservation, GivesItsMemoryBackOnce) {
  CountingDevice device;
  {
    Reservation first = std::move(*device.reserve(MemorySpace::host, 40, "a"));
    EXPECT_EQ(device.reserved(MemorySpace::host), 40);
    const Reservation second(std::move(first));
    EXPECT_EQ(second.bytes(), 40);
    EXPECT_EQ(device.reserved(MemorySpace::host), 40);
  }
  EXPECT_EQ(device.reserved(MemorySpace::host), 0);
}

TEST(Reservation, MoveAssignmentSwaps) {
  CountingDevice device;
  {
    Reservation kept = std::move(*device.reserve(MemorySpace::host, 40, "a"));
    kept = std::move(*device.reserve(MemorySpace::host, 7, "b"));
    EXPECT_EQ(kept.bytes(), 7);
    EXPECT_EQ(device.reserved(MemorySpace::host), 7);
  }
  EXPECT_EQ(device.reserved(MemorySpace::host), 0);
}

TEST(Reservation, OfNothingIsHarmless) {
  const Reservation nothing;
  EXPECT_EQ(nothing.bytes(), 0);
  EXPECT_EQ(nothing.data(), nullptr);
}

TEST(DeviceSpec, ComparesByValue) {
  DeviceSpec a;
  DeviceSpec b;
  EXPECT_EQ(a, b);
  b.threads = 7;
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace znni
