#include "client/files/hdf5_output.hpp"

#include <array>
#include <filesystem>

#include "tests/client/volume_file.hpp"

namespace znni::client {
namespace {

TEST(Hdf5Output, AFileIsMadeOnce) {
  const Scratch scratch;
  const FileName name{scratch.file("out.h5"), "/prob"};
  {
    const Result<Hdf5OutputFile> first = open_hdf5_output(name);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_TRUE(first->is_new);
  }
  const Result<Hdf5OutputFile> second = open_hdf5_output(name);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(second->is_new);
}

TEST(Hdf5Output, AFolderThatIsMissingIsNamed) {
  const Scratch scratch;
  const FileName name{scratch.file("none/out.h5"), "/prob"};
  const Result<Hdf5OutputFile> file = open_hdf5_output(name);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, name.path + ": cannot be created: No such file or directory");
}

TEST(Hdf5Output, NothingLiesInADataset) {
  const Scratch scratch;
  const std::string path = scratch.file("out.h5");
  const VolumeFacts facts{1, {3, 4, 5}, VoxelType::u8};
  write_volume({path, "/scans/raw"}, facts);
  for (const bool is_compressed : {false, true}) {
    for (const std::string inside : {"/prob", "/a/prob"}) {
      const FileName name{path, "/scans/raw" + inside, is_compressed};
      const Result<VolumeTarget> target = open_target_in_parts(name, facts, false);
      ASSERT_FALSE(target);
      EXPECT_EQ(target.error().code, ErrorCode::invalid_argument);
      EXPECT_EQ(target.error().message, to_string(name) +
                                            ": /scans/raw is no group, nothing can lie in it: "
                                            "name another dataset");
      EXPECT_FALSE(output_exists(partial_name(name)));
    }
    write_volume({path, "/scans/prob", is_compressed}, facts);
    write_volume({path, "/new/group/prob", is_compressed}, facts);
    expect_volume({path, "/new/group/prob"}, facts);
  }
}

TEST(Hdf5Output, TheOffsetIsAnAttribute) {
  const Scratch scratch;
  for (const bool is_compressed : {false, true}) {
    const FileName name{scratch.file("out.h5"), "/prob", is_compressed};
    write_volume(name, {2, {3, 4, 5}, VoxelType::u8, {7, 0, 1000000000000}});
    const Hdf5Handle file(H5Fopen(name.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    const Hdf5Handle noted(H5Aopen_by_name(file.get(), "/prob", "znni_offset", H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    std::array<std::int64_t, 3> offset{};
    ASSERT_GE(H5Aread(noted.get(), H5T_NATIVE_INT64, offset.data()), 0);
    EXPECT_EQ(offset, (std::array<std::int64_t, 3>{7, 0, 1000000000000}));
  }
}

}  // namespace
}  // namespace znni::client
