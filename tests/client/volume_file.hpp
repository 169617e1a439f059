// Checks for files of one volume of any format. The ending of the name chooses the format (".npy").
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "client/cli/parts.hpp"
#include "tests/client/numbers.hpp"
#include "tests/client/scratch.hpp"

namespace znni::client {

// Expects voxels of every type to be read as they were written.
inline void expect_round_trip(const std::string& ending) {
  const Scratch scratch;
  for (const VoxelType type : all_types) {
    const VolumeFacts facts{1, {5, 6, 9}, type};
    if (ending == ".tif" && type == VoxelType::f16) continue;  // it is not written
    const FileName name{scratch.file("volume_" + numpy_name(type) + ending), ""};
    write_volume(name, facts);
    expect_volume(name, facts);
  }
}

// Expects an output that was flushed but not finished not to exist yet.
inline void expect_unfinished_is_not_there(const std::string& ending) {
  const Scratch scratch;
  const FileName name{scratch.file("volume" + ending), ""};
  const VolumeFacts facts{1, {4, 3, 5}, VoxelType::u8};
  write_unfinished(name, facts, 2);
  EXPECT_FALSE(output_exists(name));
}

inline void expect_goes_on_where_it_stopped(const std::string& ending) {
  const Scratch scratch;
  const FileName name{scratch.file("volume" + ending), ""};
  const VolumeFacts facts{1, {7, 4, 6}, VoxelType::u16};
  write_unfinished(name, facts, 3);
  Result<VolumeTarget> second = open_target(name, facts, 3);
  ASSERT_TRUE(second);
  write_planes(*second, facts, 3, 7);
  ASSERT_TRUE(second->finish());
  expect_volume(name, facts);
}

// Writes a volume in parts whose sizes differ from the file's own blocks; the last are smaller. Interrupts one part in
// the middle and continues it. `name` has no file yet.
inline void expect_written_in_parts(const FileName& name, const VolumeFacts& facts) {
  const Parts parts{facts.n, {facts.n.z, (facts.n.y + 1) / 2, (facts.n.x + 2) / 3}};
  ASSERT_GT(parts.count(), 3);
  {
    Result<VolumeTarget> broken = open_target_in_parts(name, facts, false);
    ASSERT_TRUE(broken) << broken.error().message;
    write_part(*broken, facts, parts.box(0), 0, facts.n.z);
    write_part(*broken, facts, parts.box(1), 0, 2);
    ASSERT_TRUE(broken->flush());
    EXPECT_FALSE(output_exists(name));
  }
  Result<VolumeTarget> target = open_target_in_parts(name, facts, true);
  ASSERT_TRUE(target) << target.error().message;
  write_part(*target, facts, parts.box(1), 1, facts.n.z);  // writes some planes again
  for (std::int64_t part = 2; part < parts.count(); ++part) write_part(*target, facts, parts.box(part), 0, facts.n.z);
  EXPECT_FALSE(output_exists(name));
  const Result<void> finished = target->finish();
  ASSERT_TRUE(finished) << finished.error().message;
  expect_volume(name, facts);
}

// Expects a file that is cut short to be refused with a message that names the file.
inline void expect_cut_short_is_refused(const std::string& ending) {
  const Scratch scratch;
  const FileName name{scratch.file("volume" + ending), ""};
  const VolumeFacts facts{1, {6, 40, 40}, VoxelType::f32};
  write_volume(name, facts);
  std::filesystem::resize_file(name.path, std::filesystem::file_size(name.path) / 2);
  Result<VolumeSource> source = open_source(name);
  std::string message = source ? "" : source.error().message;
  if (source) {  // damage may show only when its plane is read
    std::vector<std::byte> plane(40 * 40 * 4);
    for (std::int64_t z = 0; z < source->facts.n.z && message.empty(); ++z) {
      const Result<void> read = source->read_plane(z, {{0, 0, 0}, facts.n}, plane);
      if (!read) message = read.error().message;
    }
  }
  EXPECT_NE(message.find(name.path), std::string::npos) << message;
}

inline void expect_garbage_is_refused(const std::string& ending) {
  const Scratch scratch;
  const std::string path = scratch.file("garbage" + ending);
  std::ofstream(path) << "this is no volume at all, but long enough to look at";
  const Result<VolumeSource> source = open_source({path, ""});
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, ErrorCode::corrupt_file);
}

}  // namespace znni::client
