// What both ways of writing an HDF5 output share: its file, its link and its attribute.
#pragma once

#include "client/files/hdf5_library.hpp"

namespace znni::client {

// A file that is open for writing.
struct Hdf5OutputFile {
  Hdf5Handle file;
  bool is_new = false;
};
// Opens or makes the file of an output. Fails if it is in use or no HDF5 file. Also fails if `name` is a group in it,
// or has a part before the last that is no group.
[[nodiscard]] Result<Hdf5OutputFile> open_hdf5_output(const FileName& name);
// Returns properties of links whose groups are made as well.
[[nodiscard]] Hdf5Handle hdf5_link_properties();
// Writes the attribute znni_offset, z, y and x of the first voxel, as the Python client does. Returns false if the
// library fails.
[[nodiscard]] bool note_hdf5_offset(hid_t dataset, Vec3 offset);

}  // namespace znni::client
