#include "client/files/hdf5_volume.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "client/files/hdf5_library.hpp"

namespace znni::client {
namespace {

// Returns the smallest type of real numbers that holds all of `type`, such as f32 for bfloat16.
std::optional<VoxelType> real_type(hid_t type) {
  struct Form {
    VoxelType type;
    std::size_t exponent;
    std::size_t mantissa;
  };
  constexpr std::array<Form, 3> forms = {{{VoxelType::f16, 5, 10}, {VoxelType::f32, 8, 23}, {VoxelType::f64, 11, 52}}};
  std::size_t at = 0;  // positions do not matter
  Form found{};
  H5Tget_fields(type, &at, &at, &found.exponent, &at, &found.mantissa);
  for (const Form& form : forms) {
    if (found.exponent <= form.exponent && found.mantissa <= form.mantissa) return form.type;
  }
  return std::nullopt;
}

std::optional<VoxelType> whole_type(hid_t type) {
  const bool has_sign = H5Tget_sign(type) != H5T_SGN_NONE;
  return voxel_type(has_sign ? VoxelKind::signed_whole : VoxelKind::unsigned_whole,
                    static_cast<std::int64_t>(H5Tget_size(type)));
}

std::optional<VoxelType> type_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_ENUM: return whole_type(type);  // such as truth values, 0 and 1
    case H5T_FLOAT: return real_type(type);
    default: return std::nullopt;
  }
}

// Returns what was found, such as "whole numbers of 3 bytes".
std::string found_text(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::string bytes = std::to_string(H5Tget_size(type)) + " bytes";
  switch (kind) {
    case H5T_STRING: return "text";
    case H5T_COMPOUND: return "records or complex numbers of " + bytes;
    case H5T_FLOAT: return "real numbers of " + bytes;
    case H5T_INTEGER:
    case H5T_ENUM: return "whole numbers of " + bytes;
    default: return "voxels of HDF5's class " + std::to_string(kind) + " and " + bytes;
  }
}

// Returns whether `name` is a 3D or 4D dataset or a link to one.
bool is_volume(hid_t root, const char* name) {
  const Hdf5Handle dataset(H5Dopen2(root, name, H5P_DEFAULT), H5Dclose);
  const std::size_t rank = dataset.valid() ? hdf5_extents(dataset.get()).size() : 0;
  return rank == 3 || rank == 4;
}

// Collects the paths of all volumes, as a callback of H5Ovisit. If a volume has several names, it takes the first.
herr_t collect(hid_t root, const char* name, const H5O_info_t* info, void* found) {
  if (info->type != H5O_TYPE_DATASET || !is_volume(root, name)) return 0;
  static_cast<std::vector<std::string>*>(found)->push_back("/" + std::string(name));
  return 0;
}

std::vector<std::string> volumes_in(hid_t file) {
  std::vector<std::string> found;
  H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, collect, &found);
  return found;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

Result<std::string> dataset_name(hid_t file, const FileName& name) {
  if (!name.dataset.empty() && is_volume(file, name.dataset.c_str())) return name.dataset;
  const std::vector<std::string> found = volumes_in(file);
  if (name.dataset.empty() && found.size() == 1) return found.front();
  const std::string what =
      name.dataset.empty() ? "which dataset? write " + name.path + ":/NAME" : "no 3D or 4D dataset " + name.dataset;
  return Error{ErrorCode::not_found, name.path + ": " + what + "; volumes in the file: " + listed(found)};
}

Result<VolumeFacts> facts_of(hid_t dataset, const std::string& label) {
  const std::vector<hsize_t> extents = hdf5_extents(dataset);
  const Hdf5Handle stored(H5Dget_type(dataset), H5Tclose);
  const std::optional<VoxelType> type = type_of(stored.get());
  if (!type) return not_read(label, found_text(stored.get()));
  const auto at = [&](std::size_t from_end) { return static_cast<std::int64_t>(extents[extents.size() - from_end]); };
  const VolumeFacts facts{extents.size() == 4 ? at(4) : 1, {at(3), at(2), at(1)}, *type};
  if (Result<void> sound = check_shape({1, facts.channels, facts.n}); !sound) return sound.error().within(label);
  return facts;
}

// Returns the bytes of all chunks that a plane touches; 0 if the dataset is not in chunks.
std::size_t bytes_of_chunks(hid_t dataset) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const std::vector<hsize_t> extents = hdf5_extents(dataset);
  std::vector<hsize_t> chunk(extents.size(), 1);
  if (H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) <= 0) return 0;
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  std::size_t bytes = H5Tget_size(type.get());
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    const bool along_z = axis + 3 == chunk.size();
    bytes *= along_z ? chunk[axis] : (extents[axis] + chunk[axis] - 1) / chunk[axis] * chunk[axis];
  }
  return bytes;
}

// Opens a dataset whose planes are read one by one. Its cache holds every chunk that a plane touches, up to
// `cache_bytes`, which becomes what it holds, so that no chunk is unpacked twice. A dataset that is open already would
// keep the cache that it has.
Hdf5Handle open_cached(hid_t file, const std::string& dataset, std::int64_t& cache_bytes) {
  Hdf5Handle plain(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose);
  const std::size_t bytes =
      std::min(bytes_of_chunks(plain.get()), static_cast<std::size_t>(std::max<std::int64_t>(0, cache_bytes)));
  plain.end();
  cache_bytes = static_cast<std::int64_t>(bytes);
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  constexpr std::size_t slots = 12421;  // a prime above the number of chunks of a plane
  H5Pset_chunk_cache(access.get(), slots, bytes, 1.0);
  return {H5Dopen2(file, dataset.c_str(), access.get()), H5Dclose};
}

}  // namespace

Result<VolumeSource> open_hdf5(const FileName& name, std::int64_t max_cache) {
  mute_hdf5();
  Hdf5Handle file(H5Fopen(name.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.valid()) return hdf5_unopened(name.path, FileUse::reads);
  const Result<std::string> dataset = dataset_name(file.get(), name);
  if (!dataset) return dataset.error();
  Hdf5Handle data = open_cached(file.get(), *dataset, max_cache);
  const Result<VolumeFacts> facts = facts_of(data.get(), name.path + ":" + *dataset);
  if (!facts) return facts.error();
  const bool has_channels = hdf5_extents(data.get()).size() == 4;
  auto open = std::make_shared<OpenDataset>(OpenDataset{std::move(file), std::move(data), *facts, has_channels});
  return VolumeSource{
      *facts,
      [open, name](std::int64_t z, const Box& box, std::span<std::byte> out) -> Result<void> {
        mute_hdf5();
        if (read_hdf5_plane(*open, z, box, out)) return {};
        return Error{ErrorCode::corrupt_file, to_string(name) + ": cannot read plane " + std::to_string(z)};
      },
      max_cache};
}

Result<void> check_hdf5_file(const std::string& path) {
  mute_hdf5();
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return {};
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  return file.valid() ? Result<void>() : hdf5_unopened(path, FileUse::reads);
}

bool hdf5_dataset_exists(const FileName& name) {
  mute_hdf5();
  std::error_code unknown;
  if (!std::filesystem::exists(name.path, unknown)) return false;
  const Hdf5Handle file(H5Fopen(name.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.valid()) return false;
  const Hdf5Handle dataset(H5Dopen2(file.get(), name.dataset.c_str(), H5P_DEFAULT), H5Dclose);
  return dataset.valid();
}

std::string hdf5_dataset_mark(const FileName& name) {
  if (!hdf5_dataset_exists(name)) return "";
  const Hdf5Handle file(H5Fopen(name.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const Hdf5Handle dataset(H5Dopen2(file.get(), name.dataset.c_str(), H5P_DEFAULT), H5Dclose);
  H5O_info_t found{};
  return H5Oget_info(dataset.get(), &found) >= 0 ? std::to_string(found.addr) : "";
}

std::int64_t hdf5_dataset_bytes(const FileName& name) {
  if (!hdf5_dataset_exists(name)) return 0;
  const Hdf5Handle file(H5Fopen(name.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const Hdf5Handle dataset(H5Dopen2(file.get(), name.dataset.c_str(), H5P_DEFAULT), H5Dclose);
  return static_cast<std::int64_t>(H5Dget_storage_size(dataset.get()));
}

}  // namespace znni::client
