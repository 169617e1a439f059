#include "client/files/files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "client/files/hdf5_chunks.hpp"
#include "client/files/hdf5_compressed.hpp"
#include "client/files/hdf5_target.hpp"
#include "client/files/hdf5_volume.hpp"
#include "client/files/npy_volume.hpp"
#include "client/files/packing.hpp"
#include "client/files/tiff_parts.hpp"
#include "client/files/tiff_volume.hpp"

namespace znni::client {
namespace {

enum class FileFormat { hdf5, tiff, npy };

Result<FileFormat> format_of(const FileName& name) {
  static constexpr std::array<std::pair<std::string_view, FileFormat>, 6> endings = {{{".h5", FileFormat::hdf5},
                                                                                      {".hdf5", FileFormat::hdf5},
                                                                                      {".hdf", FileFormat::hdf5},
                                                                                      {".tif", FileFormat::tiff},
                                                                                      {".tiff", FileFormat::tiff},
                                                                                      {".npy", FileFormat::npy}}};
  const std::string ending = std::filesystem::path(name.path).extension().string();
  for (const auto& [text, format] : endings) {
    if (ending == text) return format;
  }
  return Error{ErrorCode::invalid_argument,
               name.path + ": the ending '" + ending + "' is not known: use .h5, .hdf5, .tif, .tiff or .npy"};
}

// Returns the format of a name. Fails if the name has a dataset and the format has none.
Result<FileFormat> sound_format_of(const FileName& name) {
  Result<FileFormat> format = format_of(name);
  if (!format || *format == FileFormat::hdf5 || name.dataset.empty()) return format;
  return Error{ErrorCode::invalid_argument, name.path + ": '" + name.dataset +
                                                "': " + std::filesystem::path(name.path).extension().string() +
                                                " files hold one array and take no dataset name"};
}

}  // namespace

FileName parse_file_name(const std::string& text) {
  const std::size_t at = text.rfind(":/");
  if (at == std::string::npos || at == 0) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string to_string(const FileName& name) {
  return name.dataset.empty() ? name.path : name.path + ":" + name.dataset;
}

bool is_hdf5(const FileName& name) {
  const Result<FileFormat> format = format_of(name);
  return format && *format == FileFormat::hdf5;
}

Result<VolumeSource> open_source(const FileName& name, std::int64_t max_cache) {
  const Result<FileFormat> format = sound_format_of(name);
  if (!format) return format.error();
  std::error_code failed;
  if (!std::filesystem::is_regular_file(name.path, failed)) {
    return Error{ErrorCode::not_found, name.path + ": " + (failed ? failed.message() : "no such file")};
  }
  switch (*format) {
    case FileFormat::hdf5: return open_hdf5(name, max_cache);
    case FileFormat::tiff: return open_tiff(name.path);
    case FileFormat::npy: return open_npy(name.path);
  }
  return Error{ErrorCode::internal, name.path};
}

Result<VolumeSource> open_labels(const FileName& name, std::int64_t max_cache) {
  Result<VolumeSource> source = open_source(name, max_cache);
  if (!source || kind_of(source->facts.type) == VoxelKind::unsigned_whole) return source;
  return Error{ErrorCode::unsupported, to_string(name) + ": voxel type " + numpy_name(source->facts.type) +
                                           " is not read: use uint8, uint16, uint32 or uint64 for labels"};
}

Result<void> check_file_of(const FileName& name) { return is_hdf5(name) ? check_hdf5_file(name.path) : Result<void>(); }

bool output_exists(const FileName& name) {
  if (is_hdf5(name)) return hdf5_dataset_exists(name);
  std::error_code unknown;
  return std::filesystem::exists(name.path, unknown);
}

std::string output_mark(const FileName& name) {
  if (is_hdf5(name)) return hdf5_dataset_mark(name);
  struct stat found {};
  return stat(name.path.c_str(), &found) == 0 ? std::to_string(found.st_ino) : "";
}

Result<void> check_target(const FileName& name, const VolumeFacts& facts) {
  const Result<FileFormat> format = sound_format_of(name);
  if (!format) return format.error();
  if (*format != FileFormat::hdf5 && name.is_compressed) {
    return Error{ErrorCode::invalid_argument,
                 "--compress: " + name.path + ": only HDF5 is compressed: write FILE.h5:/NAME, or leave it out"};
  }
  if (*format == FileFormat::hdf5 && name.dataset.size() < 2) {
    return Error{ErrorCode::invalid_argument, name.path + ": name the dataset: " + name.path + ":/NAME"};
  }
  if (*format == FileFormat::tiff) return check_tiff_target(name, facts);
  return {};
}

namespace {

Result<VolumeTarget> open_hdf5_any(const FileName& name, const VolumeFacts& facts, bool goes_on, std::stop_token stop) {
  if (name.is_compressed) return open_hdf5_compressed(name, facts, goes_on, std::move(stop));
  return open_hdf5_target(name, facts, goes_on);
}

}  // namespace

Result<VolumeTarget> open_target(const FileName& name, const VolumeFacts& facts, std::int64_t planes_done) {
  if (Result<void> sound = check_target(name, facts); !sound) return sound.error();
  const Result<FileFormat> format = format_of(name);
  switch (*format) {
    case FileFormat::hdf5: return open_hdf5_any(name, facts, planes_done > 0, {});
    case FileFormat::tiff: return open_tiff_target(name, facts, planes_done);
    case FileFormat::npy: return open_npy_target(name, facts, planes_done > 0);
  }
  return Error{ErrorCode::internal, name.path};
}

Result<VolumeTarget> open_target_in_parts(const FileName& name, const VolumeFacts& facts, bool goes_on,
                                          std::stop_token stop) {
  if (Result<void> sound = check_target(name, facts); !sound) return sound.error();
  const Result<FileFormat> format = format_of(name);
  switch (*format) {
    case FileFormat::hdf5: return open_hdf5_any(name, facts, goes_on, std::move(stop));
    case FileFormat::tiff: return open_tiff_target_in_parts(name, facts, goes_on, std::move(stop));
    case FileFormat::npy: return open_npy_target(name, facts, goes_on);
  }
  return Error{ErrorCode::internal, name.path};
}

namespace {

std::int64_t bytes_of_voxels(const VolumeFacts& facts) {
  return mul(mul(facts.channels, voxels(facts.n)), voxel_bytes(facts.type));
}

}  // namespace

OutputBytes output_bytes(const FileName& name, const VolumeFacts& facts, bool in_parts) {
  if (!name.is_compressed) return max_output_bytes(name, facts, in_parts);
  const std::int64_t bytes = min_packed_bytes(bytes_of_voxels(facts));
  return {bytes, bytes};
}

OutputBytes max_output_bytes(const FileName& name, const VolumeFacts& facts, bool in_parts) {
  const Result<FileFormat> format = format_of(name);
  const std::int64_t bytes = bytes_of_voxels(facts);
  if (name.is_compressed) return {bytes, bytes};
  if (format && *format == FileFormat::hdf5) return {hdf5_bytes(facts), 0};
  const bool is_copied = in_parts && format && *format == FileFormat::tiff;
  return {bytes, is_copied ? bytes : 0};
}

std::int64_t bytes_of_partial(const FileName& name) {
  constexpr std::int64_t block = 512;  // unit of st_blocks on every file system
  const FileName partial = partial_name(name);
  struct stat found {};
  if (stat(partial.path.c_str(), &found) != 0) return 0;
  const std::int64_t on_disk = found.st_blocks * block;
  return partial.dataset.empty() ? on_disk : std::min(on_disk, hdf5_dataset_bytes(partial));
}

Error write_failure(const std::string& path, const std::string& what) {
  const std::string why = errno == 0 ? "disk full?" : std::strerror(errno);
  return {ErrorCode::device_failure, path + ": cannot " + what + ": " + why};
}

FileName partial_name(const FileName& name) {
  if (name.is_compressed) {
    std::string dataset = name.dataset;
    std::ranges::replace(dataset, '/', '.');
    return {name.path + dataset + ".partial.pieces", ""};
  }
  if (is_hdf5(name)) return {name.path, name.dataset + ".partial"};
  return {name.path + ".partial", ""};
}

}  // namespace znni::client
