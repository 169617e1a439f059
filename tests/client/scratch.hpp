// A folder for one test, removed with everything in it, and helpers that make and compare volumes.
#pragma once

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "client/files/files.hpp"

namespace znni::client {

class Scratch {
 public:
  Scratch() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ =
        std::filesystem::temp_directory_path() / ("znni-" + std::string(test->name()) + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(path_);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Returns the bytes of one plane, which differ in every plane and position.
inline std::vector<std::byte> test_plane(const VolumeFacts& facts, std::int64_t z) {
  std::vector<std::byte> plane(
      static_cast<std::size_t>(facts.channels * facts.n.y * facts.n.x * voxel_bytes(facts.type)));
  for (std::size_t i = 0; i < plane.size(); ++i)
    plane[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(z) * 31) % 63);
  return plane;
}

inline void write_planes(const VolumeTarget& target, const VolumeFacts& facts, std::int64_t first, std::int64_t last) {
  for (std::int64_t z = first; z < last; ++z) {
    const Result<void> written = target.write_plane(z, {{0, 0, 0}, facts.n}, test_plane(facts, z));
    ASSERT_TRUE(written) << written.error().message;
  }
}

// Returns the voxels of `box` in plane z of a test volume.
inline std::vector<std::byte> test_window(const VolumeFacts& facts, std::int64_t z, const Box& box) {
  const std::vector<std::byte> whole = test_plane(facts, z);
  const std::int64_t width = voxel_bytes(facts.type);
  std::vector<std::byte> window;
  for (std::int64_t row = 0; row < facts.channels * facts.n.y; ++row) {
    const std::int64_t y = row % facts.n.y;
    if (y < box.start.y || y >= box.stop.y) continue;
    const auto from = whole.begin() + (row * facts.n.x + box.start.x) * width;
    window.insert(window.end(), from, from + box.extent().x * width);
  }
  return window;
}

// Writes planes [first, last) of a part.
inline void write_part(const VolumeTarget& target, const VolumeFacts& facts, const Box& box, std::int64_t first,
                       std::int64_t last) {
  for (std::int64_t z = first; z < last; ++z) {
    const Result<void> written = target.write_plane(z, box, test_window(facts, z, box));
    ASSERT_TRUE(written) << written.error().message;
  }
}

// Writes and flushes the first planes of a test volume, and does not finish it.
inline void write_unfinished(const FileName& name, const VolumeFacts& facts, std::int64_t planes) {
  Result<VolumeTarget> target = open_target(name, facts, 0);
  ASSERT_TRUE(target) << target.error().message;
  write_planes(*target, facts, 0, planes);
  ASSERT_TRUE(target->flush());
}

// Writes a whole test volume.
inline void write_volume(const FileName& name, const VolumeFacts& facts) {
  Result<VolumeTarget> target = open_target(name, facts, 0);
  ASSERT_TRUE(target) << target.error().message;
  write_planes(*target, facts, 0, facts.n.z);
  ASSERT_TRUE(target->finish());
}

// Expects the file to hold exactly the test volume, also if read through windows.
inline void expect_volume(const FileName& name, const VolumeFacts& facts) {
  Result<VolumeSource> source = open_source(name);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->facts.channels, facts.channels);
  EXPECT_EQ(source->facts.n, facts.n);
  EXPECT_EQ(source->facts.type, facts.type);
  const std::int64_t width = voxel_bytes(facts.type);
  const Box window{{0, facts.n.y / 3, facts.n.x / 4}, {facts.n.z, facts.n.y, facts.n.x - 1}};
  const std::int64_t row = window.extent().x * width;
  std::vector<std::byte> seen(static_cast<std::size_t>(facts.channels * window.extent().y * row));
  for (std::int64_t z = facts.n.z - 1; z >= 0; --z) {  // backwards, to find a hidden dependence on order
    ASSERT_TRUE(source->read_plane(z, window, seen));
    const std::vector<std::byte> whole = test_plane(facts, z);
    for (std::int64_t i = 0; i < facts.channels * window.extent().y; ++i) {
      const std::int64_t y = i % window.extent().y + window.start.y;
      const auto from =
          whole.begin() + (((i / window.extent().y) * facts.n.y + y) * facts.n.x + window.start.x) * width;
      ASSERT_TRUE(std::equal(from, from + row, seen.begin() + i * row)) << "plane " << z << " row " << i;
    }
  }
}

}  // namespace znni::client
