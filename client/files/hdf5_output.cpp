#include "client/files/hdf5_output.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace znni::client {
namespace {

Result<Hdf5Handle> open_or_create(const std::string& path, bool is_there) {
  errno = 0;
  Hdf5Handle file(is_there ? H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                           : H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT),
                  H5Fclose);
  if (file.valid()) return file;
  if (is_there) return hdf5_unopened(path, FileUse::writes);
  const bool is_anothers = errno == EEXIST;
  Error failed = write_failure(path, "be created");
  std::error_code unknown;
  if (!is_anothers && std::filesystem::file_size(path, unknown) == 0) std::remove(path.c_str());
  return failed;
}

// Returns whether `name` is a group, which an output must not replace.
bool is_group(hid_t file, const std::string& name) {
  const Hdf5Handle there(H5Oopen(file, name.c_str(), H5P_DEFAULT), H5Oclose);
  return there.valid() && H5Iget_type(there.get()) == H5I_GROUP;
}

// Returns the first part of a dataset's path that is there and no group, "" if there is none.
std::string blocked_by(hid_t file, const std::string& name) {
  for (std::size_t at = name.find('/', 1); at != std::string::npos; at = name.find('/', at + 1)) {
    const std::string part = name.substr(0, at);
    if (H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0) return "";
    if (!is_group(file, part)) return part;
  }
  return "";
}

}  // namespace

Result<Hdf5OutputFile> open_hdf5_output(const FileName& name) {
  mute_hdf5();
  std::error_code unknown;
  const bool is_there = std::filesystem::exists(name.path, unknown);
  Result<Hdf5Handle> file = open_or_create(name.path, is_there);
  if (!file) return file.error();
  if (is_group(file->get(), name.dataset)) {
    return Error{ErrorCode::invalid_argument, to_string(name) + ": is a group: name a dataset in it"};
  }
  if (const std::string part = blocked_by(file->get(), name.dataset); !part.empty()) {
    return Error{ErrorCode::invalid_argument,
                 to_string(name) + ": " + part + " is no group, nothing can lie in it: name another dataset"};
  }
  return Hdf5OutputFile{*std::move(file), !is_there};
}

Hdf5Handle hdf5_link_properties() {
  Hdf5Handle linking(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(linking.get(), 1);
  return linking;
}

bool note_hdf5_offset(hid_t dataset, Vec3 offset) {
  const hsize_t axes = 3;
  const std::array<std::int64_t, 3> values = {offset.z, offset.y, offset.x};
  const Hdf5Handle space(H5Screate_simple(1, &axes, nullptr), H5Sclose);
  const Hdf5Handle noted(H5Acreate2(dataset, "znni_offset", H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose);
  return noted.valid() && H5Awrite(noted.get(), H5T_NATIVE_INT64, values.data()) >= 0;
}

}  // namespace znni::client
