#include "client/files/hdf5_library.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>

#include "tests/client/numbers.hpp"
#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

TEST(Hdf5Library, TypesHaveTheirSizes) {
  mute_hdf5();
  for (const VoxelType type : all_types) {
    const Hdf5Handle made = hdf5_type(type);
    EXPECT_EQ(static_cast<std::int64_t>(H5Tget_size(made.get())), voxel_bytes(type));
    EXPECT_EQ(H5Tget_class(made.get()), kind_of(type) == VoxelKind::real ? H5T_FLOAT : H5T_INTEGER);
  }
}

// Bits of IEEE half for 1, -2, 65504, the smallest number, and one third rounded to the nearest.
TEST(Hdf5Library, HalfFloatsHaveTheBitsOfIeee) {
  mute_hdf5();
  for (const auto& [value, bits] : {std::pair(1.0F, 0x3c00), std::pair(-2.0F, 0xc000), std::pair(65504.0F, 0x7bff),
                                    std::pair(0x1p-24F, 0x0001), std::pair(0x1.554p-2F, 0x3555)}) {
    std::array<std::byte, 4> voxel{};
    std::memcpy(voxel.data(), &value, sizeof value);
    const Hdf5Handle half = hdf5_type(VoxelType::f16);
    ASSERT_GE(H5Tconvert(H5T_NATIVE_FLOAT, half.get(), 1, voxel.data(), nullptr, H5P_DEFAULT), 0);
    std::uint16_t seen = 0;
    std::memcpy(&seen, voxel.data(), sizeof seen);
    EXPECT_EQ(seen, bits) << value;
  }
}

TEST(Hdf5Library, OneChannelHasNoAxis) {
  EXPECT_EQ(hdf5_axes(1, {2, 3, 4}), (std::vector<hsize_t>{2, 3, 4}));
  EXPECT_EQ(hdf5_axes(5, {2, 3, 4}), (std::vector<hsize_t>{5, 2, 3, 4}));
}

TEST(Hdf5Library, AHandleClosesWhatItHolds) {
  mute_hdf5();
  const hsize_t extent = 3;
  const hid_t id = H5Screate_simple(1, &extent, nullptr);
  {
    Hdf5Handle first(id, H5Sclose);
    const Hdf5Handle second(std::move(first));
    EXPECT_FALSE(first.valid());
    EXPECT_EQ(second.get(), id);
    EXPECT_GT(H5Iis_valid(id), 0);
  }
  EXPECT_EQ(H5Iis_valid(id), 0);
}

TEST(Hdf5Library, WhyAFileIsNotOpened) {
  const Scratch scratch;
  const std::string path = scratch.file("volume.h5");
  EXPECT_EQ(hdf5_unopened(path, FileUse::reads).message, path + ": cannot be opened: No such file or directory");
  EXPECT_EQ(hdf5_unopened(path, FileUse::writes).message, path + ": cannot be opened: No such file or directory");
  std::ofstream(path) << "no HDF5";
  for (const FileUse use : {FileUse::reads, FileUse::writes}) {
    EXPECT_EQ(hdf5_unopened(path, use).message, path + ": not an HDF5 file, or cut short");
  }
  const std::string used = scratch.file("used.h5");
  const Hdf5Handle other(H5Fcreate(used.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  EXPECT_EQ(hdf5_unopened(used, FileUse::reads).code, ErrorCode::unavailable);
}

// A program that writes HDF5's newer form.
TEST(Hdf5Library, AFileThatAKillLeftMarkedAsOpenIsTold) {
  const Scratch scratch;
  const std::string path = scratch.file("volume.h5");
  const auto killed = [&] {
    const Hdf5Handle form(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_libver_bounds(form.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, form.get()), H5Fclose);
    EXPECT_GE(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), 0);
    std::raise(SIGKILL);
  };
  EXPECT_EXIT(killed(), testing::KilledBySignal(SIGKILL), "");
  mute_hdf5();
  ASSERT_FALSE(Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose).valid());
  for (const FileUse use : {FileUse::reads, FileUse::writes}) {
    EXPECT_EQ(
        hdf5_unopened(path, use).message,
        path + ": a program that wrote it was killed and left it marked as open: `h5clear -s " + path + "` mends that");
  }
}

}  // namespace
}  // namespace znni::client
