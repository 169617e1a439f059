// Identifiers, types and transfers of the HDF5 library, for all files here that use it.
#pragma once

#include <hdf5.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/files/files.hpp"

namespace znni::client {

// An HDF5 identifier. The destructor closes it.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  ~Hdf5Handle() { end(); }
  void end() {
    if (id_ >= 0) close_(std::exchange(id_, -1));
  }
  [[nodiscard]] hid_t get() const { return id_; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Silences the library; call it before any other function of the library. Turns off its error print-out of many lines,
// for the calling thread. Also turns off its closing of files at exit: that crashes for files whose closing failed on
// a full disk, and this program closes all of its files itself.
void mute_hdf5();

// Returns the type of such voxels in a file. Half floats are as h5py writes and reads float16.
[[nodiscard]] Hdf5Handle hdf5_type(VoxelType type);
// Returns the extents of a dataset along all of its axes; none for a scalar.
[[nodiscard]] std::vector<hsize_t> hdf5_extents(hid_t dataset);
// Returns [channels][z][y][x], or [z][y][x] of one channel.
[[nodiscard]] std::vector<hsize_t> hdf5_axes(std::int64_t channels, Vec3 n);

enum class FileUse { reads, writes };
// Returns why an existing file could not be opened. The library locks files that it uses, until it closes them.
[[nodiscard]] Error hdf5_unopened(const std::string& path, FileUse use);

// A dataset of [channels][z][y][x], and its file.
struct OpenDataset {
  Hdf5Handle file;
  Hdf5Handle dataset;
  VolumeFacts facts;
  bool has_channels = false;  // false: it has no axis for them
};
// Read or write rows and columns of `box` in plane z of every channel. Ignore the z range of `box`. Return false if the
// library fails.
[[nodiscard]] bool read_hdf5_plane(const OpenDataset& open, std::int64_t z, const Box& box, std::span<std::byte> out);
[[nodiscard]] bool write_hdf5_plane(const OpenDataset& open, std::int64_t z, const Box& box,
                                    std::span<const std::byte> plane);

}  // namespace znni::client
