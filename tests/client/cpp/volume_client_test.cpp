#include "client/cpp/volume_client.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <thread>

#include "tests/client/fake_daemon.hpp"

namespace znni::client {
namespace {

constexpr Vec3 n{9, 7, 8};

struct Received {
  std::optional<Accepted> accepted;
  std::vector<std::int64_t> planes;
  std::vector<float> voxels;
  std::int64_t patches_done = 0;
};

// Returns handlers for an input whose voxels are their own index, modulo 251.
VolumeHandlers handlers(Received& received) {
  VolumeHandlers result;
  result.read = [](std::int64_t z, std::span<std::byte> out) -> Result<void> {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::byte>((static_cast<std::size_t>(z) * out.size() + i) % 251);
    return {};
  };
  result.accepted = [&](const Accepted& accepted) -> Result<void> {
    received.accepted = accepted;
    return {};
  };
  result.write = [&](std::int64_t z, std::span<const std::byte> plane) -> Result<void> {
    received.planes.push_back(z);
    const std::size_t at = received.voxels.size();
    received.voxels.resize(at + plane.size() / sizeof(float));
    std::memcpy(received.voxels.data() + at, plane.data(), plane.size());
    return {};
  };
  result.progress = [&](const StreamProgress& progress) { received.patches_done = progress.patches_done; };
  return result;
}

VolumeRequest request() { return {"crop", "", "UINT8", 1, n, "FP32", false, 0, ""}; }

TEST(VolumeClient, EveryVoxelComesBackInItsPlace) {
  const FakeDaemon daemon;
  Received received;
  const auto summary = infer(Connection(daemon.address()), request(), handlers(received), {});
  ASSERT_TRUE(summary) << summary.error().message;
  ASSERT_TRUE(received.accepted);
  EXPECT_EQ(received.accepted->n, n - Vec3::cube(2));
  EXPECT_EQ(received.planes.size(), 7U);
  EXPECT_EQ(received.patches_done, 7);
  std::size_t i = 0;
  for (std::int64_t z = 1; z < n.z - 1; ++z) {
    for (std::int64_t y = 1; y < n.y - 1; ++y) {
      for (std::int64_t x = 1; x < n.x - 1; ++x) {
        ASSERT_EQ(received.voxels[i++], static_cast<float>(((z * n.y + y) * n.x + x) % 251));
      }
    }
  }
}

TEST(VolumeClient, GoesOnWhereAnEarlierStreamEnded) {
  const FakeDaemon daemon;
  Received whole;
  ASSERT_TRUE(infer(Connection(daemon.address()), request(), handlers(whole), {}));
  VolumeRequest rest = request();
  rest.first_plane = 3;
  rest.resume_token = whole.accepted->resume_token;
  Received received;
  const auto summary = infer(Connection(daemon.address()), rest, handlers(received), {});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(received.planes, (std::vector<std::int64_t>{3, 4, 5, 6}));
  EXPECT_EQ(received.voxels, std::vector<float>(whole.voxels.begin() + 3 * 5 * 6, whole.voxels.end()));
  EXPECT_EQ(summary->bytes, 4 * 5 * 6 * 4);
  rest.resume_token = "of another volume";
  EXPECT_EQ(infer(Connection(daemon.address()), rest, handlers(received), {}).error().code, ErrorCode::corrupt_file);
}

TEST(VolumeClient, PlanesLargerThanAChunkArriveWhole) {
  const FakeDaemon daemon;
  Received received;
  VolumeRequest large = request();
  large.n = {4, 1200, 1100};  // 1.26 MiB a plane up, 5 MiB down
  const auto summary = infer(Connection(daemon.address()), large, handlers(received), {});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(received.voxels.size(), 2U * 1198 * 1098);
}

TEST(VolumeClient, PlanesThatShareAChunkComeOneByOne) {
  const FakeDaemon sound;
  Received whole;
  ASSERT_TRUE(infer(Connection(sound.address()), request(), handlers(whole), {}));
  const FakeDaemon daemon(Behaviour::large_chunks);
  Received received;
  const auto summary = infer(Connection(daemon.address()), request(), handlers(received), {});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(received.planes, whole.planes);
  EXPECT_EQ(received.voxels, whole.voxels);
}

void expect_failure(Behaviour behaviour, ErrorCode code, const std::string& message) {
  const FakeDaemon daemon(behaviour);
  Received received;
  const auto summary = infer(Connection(daemon.address()), request(), handlers(received), {});
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, code);
  EXPECT_EQ(summary.error().message, message);
}

TEST(VolumeClient, DaemonThatEnds) {
  expect_failure(Behaviour::dies_in_the_middle, ErrorCode::unavailable, "shutting down");
}
TEST(VolumeClient, DaemonThatLosesAPlane) {
  expect_failure(Behaviour::loses_a_plane, ErrorCode::internal, "the daemon sent 6 of 7 output planes");
}
TEST(VolumeClient, DaemonThatSkipsBytes) {
  expect_failure(Behaviour::skips_bytes, ErrorCode::internal, "output chunk at byte 4, expected 0");
}
TEST(VolumeClient, DaemonThatRefuses) {
  expect_failure(Behaviour::refuses, ErrorCode::over_budget, "needs 9 GiB, has 1 GiB");
}

// A call without an answer has the same codes.
TEST(VolumeClient, WhatTheDaemonSaysIsNotTakenForSilence) {
  for (const grpc::StatusCode code : {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::DEADLINE_EXCEEDED}) {
    const FakeDaemon daemon(Behaviour::sound, {{7, 3, 2}, "model", 0, 0, code});
    EXPECT_EQ(outlook(Connection(daemon.address()), request()).error().message, "not now");
    const FakeDaemon proxy(Behaviour::sound, {{7, 3, 2}, "model", 0, 0, code, false});
    EXPECT_EQ(outlook(Connection(proxy.address()), request()).error().message,
              "no answer from " + proxy.address() + ": not now (is znnid running there?)");
  }
}

TEST(VolumeClient, ErrorOfReadingEndsTheStream) {
  const FakeDaemon daemon;
  Received received;
  VolumeHandlers failing = handlers(received);
  failing.read = [](std::int64_t, std::span<std::byte>) -> Result<void> {
    return Error{ErrorCode::corrupt_file, "bad plane"};
  };
  const auto summary = infer(Connection(daemon.address()), request(), failing, {});
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().message, "bad plane");
}

TEST(VolumeClient, ErrorOfWritingEndsTheStream) {
  const FakeDaemon daemon;
  Received received;
  VolumeHandlers failing = handlers(received);
  failing.write = [](std::int64_t, std::span<const std::byte>) -> Result<void> {
    return Error{ErrorCode::device_failure, "disk full"};
  };
  const auto summary = infer(Connection(daemon.address()), request(), failing, {});
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().message, "disk full");
}

TEST(VolumeClient, StopEndsAStreamThatHangs) {
  const FakeDaemon daemon(Behaviour::never_answers);
  Received received;
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  const auto summary = infer(Connection(daemon.address()), request(), handlers(received), stop.get_token());
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, ErrorCode::cancelled);
}

TEST(VolumeClient, AsksInWhichPartsAVolumeIsBestSent) {
  const FakeDaemon daemon(Behaviour::sound, {{7, 3, 2}});
  const auto told = outlook(Connection(daemon.address()), request());
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->part, (Vec3{7, 3, 2}));
  EXPECT_EQ(told->seconds, 2.5);
  EXPECT_EQ(told->whole_seconds, 9);
  const FakeDaemon older;
  EXPECT_EQ(outlook(Connection(older.address()), request()).error().code, ErrorCode::unsupported);
  const FakeDaemon wrong(Behaviour::sound, {{7, 99, 2}});
  EXPECT_EQ(outlook(Connection(wrong.address()), request()).error().code, ErrorCode::internal);
}

}  // namespace
}  // namespace znni::client
