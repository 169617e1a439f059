#include "client/files/hdf5_output.hpp"

#include <array>
#include <filesystem>

#include "tests/client/scratch.hpp"

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
