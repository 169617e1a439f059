#include "client/files/hdf5_volume.hpp"

#include <hdf5.h>

#include <filesystem>

#include "tests/client/volume_file.hpp"

namespace znni::client {
namespace {

TEST(Hdf5Volume, RoundTrip) {
  const Scratch scratch;
  for (const VoxelType type : {VoxelType::u8, VoxelType::u16, VoxelType::f32}) {
    for (const std::int64_t channels : {1, 3}) {
      const VolumeFacts facts{channels, {5, 6, 9}, type};
      const FileName name{scratch.file("volume.h5"), "/group/" + numpy_name(type) + std::to_string(channels)};
      write_volume(name, facts);
      expect_volume(name, facts);
    }
  }
}

TEST(Hdf5Volume, TheOnlyVolumeNeedsNoName) {
  const Scratch scratch;
  const VolumeFacts facts{1, {3, 4, 5}, VoxelType::u8};
  write_volume({scratch.file("volume.h5"), "/raw"}, facts);
  expect_volume({scratch.file("volume.h5"), ""}, facts);
}

// Tests a hard link, a soft link and a link into another file.
TEST(Hdf5Volume, LinksLeadToTheirDataset) {
  const Scratch scratch;
  const VolumeFacts facts{1, {3, 4, 5}, VoxelType::u8};
  const std::string path = scratch.file("volume.h5");
  write_volume({path, "/raw"}, facts);
  write_volume({scratch.file("other.h5"), "/group/raw"}, facts);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Lcreate_hard(file, "/raw", file, "/again", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/raw", file, "/soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("other.h5", "/group/raw", file, "/external", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  for (const char* name : {"/raw", "/again", "/soft", "/external"}) expect_volume({path, name}, facts);
}

// A filter that changes nothing and counts the chunks that are unpacked.
constexpr H5Z_filter_t counting_filter = 300;
int unpacked = 0;

std::size_t count_unpacked(unsigned flags, std::size_t /*values*/, const unsigned* /*value*/, std::size_t bytes,
                           std::size_t* /*room*/, void** /*chunk*/) {
  if ((flags & H5Z_FLAG_REVERSE) != 0) ++unpacked;
  return bytes;
}

// Writes 20 x 300 x 300 voxels in chunks of 10 x 100 x 100, with the filter: 1800000 bytes a row of chunks.
void write_chunks(const std::string& path) {
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, counting_filter, 1, 1, "counting", nullptr, nullptr, count_unpacked};
  H5Zregister(&filter);
  const hsize_t extents[] = {20, 300, 300};
  const hsize_t chunk[] = {10, 100, 100};
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(3, extents, nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 3, chunk);
  H5Pset_filter(creation, counting_filter, 0, 0, nullptr);
  const hid_t dataset = H5Dcreate2(file, "/raw", H5T_NATIVE_UINT16, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  const std::vector<std::uint16_t> voxels(20 * 300 * 300, 7);
  H5Dwrite(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, voxels.data());
  H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);
}

// Returns how many chunks are unpacked while all planes are read.
int count_unpacked(const VolumeSource& source) {
  unpacked = 0;
  std::vector<std::byte> plane(2 * 300 * 300);
  for (std::int64_t z = 0; z < 20; ++z) {
    EXPECT_TRUE(source.read_plane(z, {{}, {20, 300, 300}}, plane));
    EXPECT_EQ(plane.back(), std::byte{0});
    EXPECT_EQ(plane.front(), std::byte{7});
  }
  return unpacked;
}

TEST(Hdf5Volume, EachChunkIsUnpackedOnce) {
  const Scratch scratch;
  const std::string path = scratch.file("chunks.h5");
  write_chunks(path);
  {
    const Result<VolumeSource> source = open_source({path, "/raw"});
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ(source->cache_bytes, 10 * 300 * 300 * 2);
    EXPECT_EQ(count_unpacked(*source), 2 * 9);
  }
  const Result<VolumeSource> little = open_source({path, "/raw"}, 300000);
  ASSERT_TRUE(little) << little.error().message;
  EXPECT_EQ(little->cache_bytes, 300000);
  EXPECT_GE(count_unpacked(*little), 2 * 9) << "they do not fit, and it is no error";
}

TEST(Hdf5Volume, MissingDatasetListsWhatIsThere) {
  const Scratch scratch;
  write_volume({scratch.file("volume.h5"), "/raw"}, {1, {3, 4, 5}, VoxelType::u8});
  write_volume({scratch.file("volume.h5"), "/other"}, {1, {3, 4, 5}, VoxelType::u8});
  for (const std::string dataset : {"/nothing", ""}) {
    const Result<VolumeSource> source = open_source({scratch.file("volume.h5"), dataset});
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().code, ErrorCode::not_found);
    EXPECT_NE(source.error().message.find("/other, /raw"), std::string::npos) << source.error().message;
  }
}

TEST(Hdf5Volume, FileCutShortIsRefused) {
  const Scratch scratch;
  const std::string path = scratch.file("volume.h5");
  write_volume({path, "/raw"}, {1, {8, 64, 64}, VoxelType::f32});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const Result<VolumeSource> source = open_source({path, "/raw"});
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find(path), std::string::npos);
}

}  // namespace
}  // namespace znni::client
