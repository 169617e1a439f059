// A job for the fake daemon's model "crop", and checks of its output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "client/cli/options.hpp"
#include "tests/client/fake_daemon.hpp"
#include "tests/client/scratch.hpp"

namespace znni::client {

inline const VolumeFacts input_facts{1, {9, 6, 8}, VoxelType::u8};

inline Options options_for(const FakeDaemon& daemon, const Scratch& scratch, const std::string& output) {
  const FileName input{scratch.file("in.npy"), ""};
  if (!std::filesystem::exists(input.path)) write_volume(input, input_facts);
  Options options;
  options.command = Command::infer;
  options.server = daemon.address();
  options.model = "crop";
  options.input = input.path;
  options.output = scratch.file(output);
  options.progress = false;
  return options;
}

// Expects the output to be `box` of the input, because output voxels of model "crop" are input voxels.
inline void expect_middle(const std::string& output, const Box& box) {
  Result<VolumeSource> source = open_source(parse_file_name(output));
  ASSERT_TRUE(source) << source.error().message;
  ASSERT_EQ(source->facts.n, box.extent());
  std::vector<float> plane(static_cast<std::size_t>(box.extent().y * box.extent().x));
  const auto bytes = std::as_writable_bytes(std::span(plane));
  for (std::int64_t z = 0; z < box.extent().z; ++z) {
    ASSERT_TRUE(source->read_plane(z, {{0, 0, 0}, box.extent()}, bytes));
    const std::vector<std::byte> whole = test_plane(input_facts, z + box.start.z);
    for (std::size_t i = 0; i < plane.size(); ++i) {
      const std::int64_t y = static_cast<std::int64_t>(i) / box.extent().x + box.start.y;
      const std::int64_t x = static_cast<std::int64_t>(i) % box.extent().x + box.start.x;
      ASSERT_EQ(plane[i],
                static_cast<float>(std::to_integer<int>(whole[static_cast<std::size_t>(y * input_facts.n.x + x)])));
    }
  }
}

}  // namespace znni::client
