#include "server/volume/plane_ring.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::Random;
using testing::HasSubstr;

// Returns bytes that tell where in the volume they belong.
std::vector<std::byte> bytes_of(const VolumeShape& shape) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(volume_bytes(shape)));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 251);
  return bytes;
}

// A ring with memory for some planes of a volume.
struct Bench {
  Bench(const VolumeShape& of, std::int64_t planes, std::int64_t first_plane = 0)
      : shape(of),
        volume(bytes_of(of)),
        plane_bytes(volume.size() / static_cast<std::size_t>(of.n.z)),
        memory(static_cast<std::size_t>(planes) * plane_bytes),
        ring(memory, of, first_plane) {}

  // Writes planes [first, last), or as many as there are, in pieces of at most `most` bytes.
  Result<void> write(std::int64_t first, std::int64_t last, std::size_t most = 1000, std::stop_token stop = {}) {
    const std::size_t end = std::min(static_cast<std::size_t>(last) * plane_bytes, volume.size());
    for (std::size_t at = static_cast<std::size_t>(first) * plane_bytes; at < end; at += most) {
      const std::span<const std::byte> all(volume);
      if (Result<void> done = ring.write(all.subspan(at, std::min(most, end - at)), stop); !done) return done;
    }
    return {};
  }

  // Expects every byte of the planes.
  void expect_planes(std::int64_t first, std::int64_t last) const {
    const std::size_t channel_bytes = plane_bytes / static_cast<std::size_t>(shape.f);
    for (std::int64_t z = first; z < last; ++z) {
      for (std::int64_t j = 0; j < shape.f; ++j) {
        const std::byte* const wanted =
            volume.data() + static_cast<std::size_t>(z) * plane_bytes + static_cast<std::size_t>(j) * channel_bytes;
        EXPECT_TRUE(std::equal(wanted, wanted + channel_bytes, ring.plane(j, z))) << "channel " << j << " plane " << z;
      }
    }
  }

  VolumeShape shape;
  std::vector<std::byte> volume;
  std::size_t plane_bytes;
  std::vector<std::byte> memory;
  PlaneRing ring;
};

VolumeShape bytes_shape(std::int64_t f, Vec3 n) { return {f, n, ElementType::u8, VolumeOrder::plane_major}; }

TEST(PlaneRing, AVolumeFlowsThroughAFewPlanes) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const std::int64_t planes = random.integer(1, 30);
    const std::int64_t at_a_time = random.integer(1, planes);
    const std::int64_t begin = random.integer(0, planes - 1);
    Bench bench(bytes_shape(random.integer(1, 3), {planes, random.integer(1, 4), random.integer(1, 5)}),
                at_a_time + random.integer(0, 3), begin);
    const auto most = static_cast<std::size_t>(random.integer(1, 50));
    std::jthread writer([&] { EXPECT_TRUE(bench.write(begin, planes, most)); });
    for (std::int64_t first = begin; first < planes; first += random.integer(1, 4)) {
      const std::int64_t last = std::min(planes, first + at_a_time);
      bench.ring.want({first, last});
      ASSERT_TRUE(bench.ring.wait({}));
      EXPECT_TRUE(bench.ring.here());
      bench.expect_planes(first, last);
    }
    bench.ring.want({planes, planes});
    writer.join();
  }
}

TEST(PlaneRing, TheWriterWaitsWhileAllPlanesAreWanted) {
  Bench bench(bytes_shape(1, {8, 2, 3}), 3);
  bench.ring.want({0, 2});
  EXPECT_FALSE(bench.ring.here());
  EXPECT_TRUE(bench.write(0, 3));
  EXPECT_TRUE(bench.ring.here());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(bench.write(3, 4, 1000, stop.get_token()).error().code, ErrorCode::cancelled);
  bench.ring.want({2, 3});
  EXPECT_TRUE(bench.write(3, 5, 1000, stop.get_token()));  // two places are free
  EXPECT_EQ(bench.write(5, 6, 1000, stop.get_token()).error().code, ErrorCode::cancelled);
  bench.expect_planes(2, 5);
}

TEST(PlaneRing, PlanesBeforeAWantedOneNeedNoRoom) {
  Bench bench(bytes_shape(2, {9, 2, 3}), 2);
  bench.ring.want({7, 9});
  EXPECT_TRUE(bench.write(0, 9));
  EXPECT_TRUE(bench.ring.wait({}));
  bench.expect_planes(7, 9);
}

TEST(PlaneRing, AStopEndsTheReadersWait) {
  Bench bench(bytes_shape(1, {4, 2, 3}), 2);
  bench.ring.want({0, 1});
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(bench.ring.wait(stop.get_token()).error().code, ErrorCode::cancelled);
}

TEST(PlaneRing, WhatFailedIsToldOnceWhatCameIsRead) {
  Bench bench(bytes_shape(1, {4, 2, 3}), 4);
  EXPECT_TRUE(bench.write(0, 2));
  bench.ring.fail({ErrorCode::invalid_argument, "12 bytes found"});
  bench.ring.fail({ErrorCode::internal, "a later one"});
  bench.ring.want({0, 2});
  EXPECT_TRUE(bench.ring.wait({}));
  bench.expect_planes(0, 2);
  bench.ring.want({1, 3});
  EXPECT_TRUE(bench.ring.here());
  EXPECT_EQ(bench.ring.wait({}).error().message, "12 bytes found");
}

TEST(PlaneRing, AClosedRingTakesNoMore) {
  Bench bench(bytes_shape(1, {6, 2, 3}), 2);
  std::jthread closer([&] { bench.ring.close(); });
  EXPECT_EQ(bench.write(0, 6).error().code, ErrorCode::cancelled);
}

TEST(PlaneRing, MoreThanItsMemoryHoldsIsRefused) {
  Bench bench(bytes_shape(1, {3, 2, 2}), 2);
  bench.ring.want({0, 3});
  EXPECT_THAT(bench.ring.wait({}).error().message,
              HasSubstr("planes 0 to 3 of the input are wanted at a time; 2 have room"));
}

TEST(PlaneRingDeathTest, MoreThanTheVolumeHasIsNoInput) {
  Bench bench(bytes_shape(1, {3, 2, 2}), 4);
  const std::vector<std::byte> more(13);
  EXPECT_DEATH(static_cast<void>(bench.ring.write(more, {})), "no more is written");
}

}  // namespace
}  // namespace znni
