#include "client/files/hdf5_library.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "primitives/core/file_handle.hpp"

namespace znni::client {
namespace {

hid_t native_type(VoxelType type) {
  switch (type) {
    case VoxelType::u8: return H5T_NATIVE_UINT8;
    case VoxelType::u16: return H5T_NATIVE_UINT16;
    case VoxelType::u32: return H5T_NATIVE_UINT32;
    case VoxelType::u64: return H5T_NATIVE_UINT64;
    case VoxelType::i8: return H5T_NATIVE_INT8;
    case VoxelType::i16: return H5T_NATIVE_INT16;
    case VoxelType::i32: return H5T_NATIVE_INT32;
    case VoxelType::i64: return H5T_NATIVE_INT64;
    case VoxelType::f16:
    case VoxelType::f32: return H5T_NATIVE_FLOAT;
    case VoxelType::f64: return H5T_NATIVE_DOUBLE;
  }
  return -1;
}

// Returns the type of IEEE half: sign 15, exponent 10..14, mantissa 0..9.
Hdf5Handle half_type() {
  Hdf5Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

// The places of a plane's voxels in the file and in memory.
struct Selection {
  Hdf5Handle in_file;
  Hdf5Handle in_memory;
};
Selection select(const OpenDataset& open, std::int64_t z, const Box& box) {
  const auto size = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  std::array<hsize_t, 4> start = {0, size(z), size(box.start.y), size(box.start.x)};
  std::array<hsize_t, 4> count = {size(open.facts.channels), 1, size(box.extent().y), size(box.extent().x)};
  const int skip = open.has_channels ? 0 : 1;
  Hdf5Handle in_file(H5Dget_space(open.dataset.get()), H5Sclose);
  H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data() + skip, nullptr, count.data() + skip, nullptr);
  Hdf5Handle in_memory(H5Screate_simple(4 - skip, count.data() + skip, nullptr), H5Sclose);
  return {std::move(in_file), std::move(in_memory)};
}

// Returns true if a file of HDF5's newer form is marked as open for writing.
bool is_marked_open(int file) {
  constexpr std::array<unsigned char, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  std::array<unsigned char, 12> head{};
  if (::pread(file, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) return false;
  const unsigned version = head[8];
  const bool has_mark = std::equal(signature.begin(), signature.end(), head.begin()) && version >= 3;
  return has_mark && (head[11] & 1U) != 0;
}

}  // namespace

void mute_hdf5() {
  static const herr_t closes_nothing_at_exit = H5dont_atexit();
  static_cast<void>(closes_nothing_at_exit);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Handle hdf5_type(VoxelType type) {
  return type == VoxelType::f16 ? half_type() : Hdf5Handle(H5Tcopy(native_type(type)), H5Tclose);
}

std::vector<hsize_t> hdf5_extents(hid_t dataset) {
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(rank, 0)));
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  return extents;
}

std::vector<hsize_t> hdf5_axes(std::int64_t channels, Vec3 n) {
  const auto size = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  std::vector<hsize_t> axes = {size(n.z), size(n.y), size(n.x)};
  if (channels > 1) axes.insert(axes.begin(), size(channels));
  return axes;
}

Error hdf5_unopened(const std::string& path, FileUse use) {
  const bool reads = use == FileUse::reads;
  const FileHandle file(::open(path.c_str(), (reads ? O_RDONLY : O_RDWR) | O_CLOEXEC));
  if (!file.is_open() && reads) return {ErrorCode::corrupt_file, path + ": cannot be opened: " + std::strerror(errno)};
  if (!file.is_open()) return write_failure(path, "be opened");
  const bool is_locked = ::flock(file.get(), (reads ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0;
  if (!is_locked && errno == EWOULDBLOCK) {
    return {ErrorCode::unavailable,
            path + ": is in use: another program has it open: wait until that has ended, or name another file"};
  }
  if (!is_locked) return {ErrorCode::device_failure, path + ": cannot be locked: " + std::strerror(errno)};
  if (is_marked_open(file.get())) {
    return {
        ErrorCode::corrupt_file,
        path + ": a program that wrote it was killed and left it marked as open: `h5clear -s " + path + "` mends that"};
  }
  return {ErrorCode::corrupt_file, path + ": not an HDF5 file, or cut short"};
}

bool read_hdf5_plane(const OpenDataset& open, std::int64_t z, const Box& box, std::span<std::byte> out) {
  const Selection place = select(open, z, box);
  const Hdf5Handle type = hdf5_type(open.facts.type);
  return H5Dread(open.dataset.get(), type.get(), place.in_memory.get(), place.in_file.get(), H5P_DEFAULT, out.data()) >=
         0;
}

bool write_hdf5_plane(const OpenDataset& open, std::int64_t z, const Box& box, std::span<const std::byte> plane) {
  const Selection place = select(open, z, box);
  const Hdf5Handle type = hdf5_type(open.facts.type);
  return H5Dwrite(open.dataset.get(), type.get(), place.in_memory.get(), place.in_file.get(), H5P_DEFAULT,
                  plane.data()) >= 0;
}

}  // namespace znni::client
