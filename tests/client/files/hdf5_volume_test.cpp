#include "client/files/hdf5_volume.hpp"

#include <hdf5.h>

#include <filesystem>

#include "client/files/hdf5_library.hpp"
#include "tests/client/numbers.hpp"
#include "tests/client/volume_file.hpp"

namespace znni::client {
namespace {

TEST(Hdf5Volume, RoundTrip) {
  const Scratch scratch;
  for (const VoxelType type : all_types) {
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

// Returns the type of such numbers in a file, made from its bits.
Hdf5Handle type_in_file(VoxelType type, H5T_order_t order) {
  static constexpr std::array exponents = {5U, 8U, 11U};  // of 2, 4 and 8 bytes
  const auto bytes = static_cast<std::size_t>(voxel_bytes(type));
  const bool is_real = kind_of(type) == VoxelKind::real;
  Hdf5Handle made(H5Tcopy(is_real ? H5T_IEEE_F64LE : H5T_STD_U64LE), H5Tclose);
  if (is_real) {
    const std::size_t exponent = exponents[bytes / 4];
    const std::size_t mantissa = 8 * bytes - 1 - exponent;
    H5Tset_fields(made.get(), 8 * bytes - 1, mantissa, exponent, 0, mantissa);
    H5Tset_size(made.get(), bytes);
    H5Tset_ebias(made.get(), (std::size_t{1} << (exponent - 1)) - 1);
  } else {
    H5Tset_size(made.get(), bytes);
    H5Tset_sign(made.get(), kind_of(type) == VoxelKind::signed_whole ? H5T_SGN_2 : H5T_SGN_NONE);
  }
  H5Tset_order(made.get(), order);
  return made;
}

// Writes the bytes as they are, as numbers of `type`.
void write_dataset(const std::string& path, hid_t type, const VolumeFacts& facts, const std::vector<std::byte>& bytes) {
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  const std::vector<hsize_t> axes = hdf5_axes(facts.channels, facts.n);
  const Hdf5Handle space(H5Screate_simple(static_cast<int>(axes.size()), axes.data(), nullptr), H5Sclose);
  const Hdf5Handle data(H5Dcreate2(file.get(), "/raw", type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                        H5Dclose);
  ASSERT_GE(H5Dwrite(data.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), 0);
}

TEST(Hdf5Volume, NumbersOfAllTypesInEitherByteOrder) {
  const Scratch scratch;
  std::mt19937 random(17);
  const FileName name{scratch.file("volume.h5"), "/raw"};
  for (int i = 0; i < 4; ++i) {
    for (const VoxelType type : all_types) {
      const NumberVolume volume = random_numbers(type, random, 1 + i % 3);
      write_dataset(name.path, type_in_file(type, H5T_ORDER_LE).get(), volume.facts, volume.bytes);
      expect_numbers(name, volume);
      write_dataset(name.path, type_in_file(type, H5T_ORDER_BE).get(), volume.facts, in_other_order(volume));
      expect_numbers(name, volume);
    }
  }
}

// The upper half of a float32, which float16 does not hold.
TEST(Hdf5Volume, Bfloat16IsReadAsFloat32) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.h5"), "/raw"};
  const Hdf5Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(type.get(), 15, 7, 8, 0, 7);
  H5Tset_size(type.get(), 2);
  const NumberVolume floats = [] {
    std::vector<float> numbers = {1.0F, -0x1.fep127F, 0x1p-126F, 0.3125F};
    const auto bytes = std::as_bytes(std::span(numbers));
    return NumberVolume{{1, {1, 2, 2}, VoxelType::f32}, {bytes.begin(), bytes.end()}};
  }();
  std::vector<std::byte> halves;
  for (std::size_t at = 0; at < floats.bytes.size(); at += 4) {
    halves.insert(halves.end(), {floats.bytes[at + 2], floats.bytes[at + 3]});
  }
  write_dataset(name.path, type.get(), floats.facts, halves);
  expect_numbers(name, floats);
}

// As h5py writes them: named bytes.
TEST(Hdf5Volume, TruthValuesAreNumbers) {
  const Scratch scratch;
  const FileName name{scratch.file("mask.h5"), "/raw"};
  const Hdf5Handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
  for (const auto& [text, number] : {std::pair("FALSE", std::int8_t{0}), std::pair("TRUE", std::int8_t{1})}) {
    ASSERT_GE(H5Tenum_insert(type.get(), text, &number), 0);
  }
  const NumberVolume volume{{1, {1, 2, 2}, VoxelType::i8}, {std::byte{0}, std::byte{1}, std::byte{1}, std::byte{0}}};
  write_dataset(name.path, type.get(), volume.facts, volume.bytes);
  expect_numbers(name, volume);
}

TEST(Hdf5Volume, WhatAreNoSuchNumbersIsRefusedWithItsForm) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.h5"), "/raw"};
  const Hdf5Handle complex(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
  H5Tinsert(complex.get(), "r", 0, H5T_NATIVE_FLOAT);
  H5Tinsert(complex.get(), "i", 4, H5T_NATIVE_FLOAT);
  const Hdf5Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
  const Hdf5Handle three(H5Tcopy(H5T_STD_U64LE), H5Tclose);
  H5Tset_size(three.get(), 3);
  const Hdf5Handle opaque(H5Tcreate(H5T_OPAQUE, 5), H5Tclose);
  for (const auto& [type, words] : {std::pair(complex.get(), std::string("records or complex numbers of 8 bytes")),
                                    {text.get(), "text"},
                                    {three.get(), "whole numbers of 3 bytes"},
                                    {H5T_NATIVE_LDOUBLE, "real numbers of 16 bytes"},
                                    {opaque.get(), "voxels of HDF5's class 5 and 5 bytes"}}) {
    write_dataset(name.path, type, {1, {2, 3, 4}}, std::vector<std::byte>(2000));
    const Result<VolumeSource> source = open_source(name);
    ASSERT_FALSE(source) << words;
    EXPECT_EQ(source.error().message,
              name.path + ":/raw: " + words +
                  " found, expected whole numbers of 8 to 64 bits or real numbers of 16, 32 or 64");
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
