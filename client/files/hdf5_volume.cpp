#include "client/files/hdf5_volume.hpp"

#include <fcntl.h>
#include <hdf5.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "primitives/core/file_handle.hpp"
#include "primitives/core/write_atomically.hpp"

namespace znni::client {
namespace {

constexpr std::int64_t chunk_edge = 256;  // extent of an output chunk along y and x; it is one plane thick

// An HDF5 identifier. The destructor closes it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() { end(); }
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
void mute_library() {
  static const herr_t closes_nothing_at_exit = H5dont_atexit();
  static_cast<void>(closes_nothing_at_exit);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

hid_t native_type(VoxelType type) {
  switch (type) {
    case VoxelType::u8: return H5T_NATIVE_UINT8;
    case VoxelType::u16: return H5T_NATIVE_UINT16;
    case VoxelType::u32: return H5T_NATIVE_UINT32;
    case VoxelType::u64: return H5T_NATIVE_UINT64;
    case VoxelType::f16:
    case VoxelType::f32: return H5T_NATIVE_FLOAT;
  }
  return -1;
}

// Returns the type of IEEE half, as h5py writes and reads float16: sign 15, exponent 10..14, mantissa 0..9.
Handle half_type() {
  Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

Handle stored_type(VoxelType type) {
  return type == VoxelType::f16 ? half_type() : Handle(H5Tcopy(native_type(type)), H5Tclose);
}

std::optional<VoxelType> type_of(hid_t dataset) {
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const std::size_t size = H5Tget_size(type.get());
  if (H5Tget_class(type.get()) == H5T_FLOAT && size == 4) return VoxelType::f32;
  if (H5Tget_class(type.get()) != H5T_INTEGER || H5Tget_sign(type.get()) != H5T_SGN_NONE) return std::nullopt;
  return unsigned_type(static_cast<std::int64_t>(size));
}

std::vector<hsize_t> extents_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(rank, 0)));
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  return extents;
}

// Returns whether `name` is a 3D or 4D dataset or a link to one.
bool is_volume(hid_t root, const char* name) {
  const Handle dataset(H5Dopen2(root, name, H5P_DEFAULT), H5Dclose);
  const std::size_t rank = dataset.valid() ? extents_of(dataset.get()).size() : 0;
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

// Everything that a reader or writer keeps open.
struct OpenDataset {
  Handle file;
  Handle dataset;
  VolumeFacts facts;
  bool has_channels = false;
  bool has_made_file = false;
};

// Returns why an existing file could not be opened. The library locks files that it reads (LOCK_SH) or writes
// (LOCK_EX).
Error unopened(const std::string& path, int lock) {
  const FileHandle file(::open(path.c_str(), (lock == LOCK_SH ? O_RDONLY : O_RDWR) | O_CLOEXEC));
  if (!file.is_open() && lock == LOCK_SH)
    return {ErrorCode::corrupt_file, path + ": cannot be opened: " + std::strerror(errno)};
  if (!file.is_open()) return write_failure(path, "be opened");
  const bool is_locked = ::flock(file.get(), lock | LOCK_NB) == 0;
  if (!is_locked && errno == EWOULDBLOCK) {
    return {ErrorCode::unavailable,
            path + ": is in use: another program has it open: wait until that has ended, or name another file"};
  }
  if (!is_locked) return {ErrorCode::device_failure, path + ": cannot be locked: " + std::strerror(errno)};
  return {ErrorCode::corrupt_file, path + ": not an HDF5 file, or cut short"};
}

Result<VolumeFacts> facts_of(hid_t dataset, const std::string& label) {
  const std::vector<hsize_t> extents = extents_of(dataset);
  const std::optional<VoxelType> type = type_of(dataset);
  if (!type) return Error{ErrorCode::unsupported, label + ": voxel type is not read: use uint8, uint16 or float32"};
  const auto at = [&](std::size_t from_end) { return static_cast<std::int64_t>(extents[extents.size() - from_end]); };
  const VolumeFacts facts{extents.size() == 4 ? at(4) : 1, {at(3), at(2), at(1)}, *type};
  if (Result<void> sound = check_shape({1, facts.channels, facts.n}); !sound) return sound.error().within(label);
  return facts;
}

// Reads or writes rows and columns of `box` in plane z of every channel.
enum class Direction { read, write };
herr_t transfer(const OpenDataset& open, std::int64_t z, const Box& box, void* memory, Direction direction) {
  const auto size = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  std::array<hsize_t, 4> start = {0, size(z), size(box.start.y), size(box.start.x)};
  std::array<hsize_t, 4> count = {size(open.facts.channels), 1, size(box.extent().y), size(box.extent().x)};
  const int skip = open.has_channels ? 0 : 1;
  const Handle in_file(H5Dget_space(open.dataset.get()), H5Sclose);
  H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data() + skip, nullptr, count.data() + skip, nullptr);
  const Handle in_memory(H5Screate_simple(4 - skip, count.data() + skip, nullptr), H5Sclose);
  const Handle type = stored_type(open.facts.type);
  if (direction == Direction::read) {
    return H5Dread(open.dataset.get(), type.get(), in_memory.get(), in_file.get(), H5P_DEFAULT, memory);
  }
  return H5Dwrite(open.dataset.get(), type.get(), in_memory.get(), in_file.get(), H5P_DEFAULT, memory);
}

// Returns the bytes of all chunks that a plane touches; 0 if the dataset is not in chunks.
std::size_t bytes_of_chunks(hid_t dataset) {
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const std::vector<hsize_t> extents = extents_of(dataset);
  std::vector<hsize_t> chunk(extents.size(), 1);
  if (H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) <= 0) return 0;
  const Handle type(H5Dget_type(dataset), H5Tclose);
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
Handle open_cached(hid_t file, const std::string& dataset, std::int64_t& cache_bytes) {
  Handle plain(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose);
  const std::size_t bytes =
      std::min(bytes_of_chunks(plain.get()), static_cast<std::size_t>(std::max<std::int64_t>(0, cache_bytes)));
  plain.end();
  cache_bytes = static_cast<std::int64_t>(bytes);
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  constexpr std::size_t slots = 12421;  // a prime above the number of chunks of a plane
  H5Pset_chunk_cache(access.get(), slots, bytes, 1.0);
  return {H5Dopen2(file, dataset.c_str(), access.get()), H5Dclose};
}

Error cannot(const FileName& name, const std::string& what) { return write_failure(to_string(name), what); }

Result<Handle> open_or_create(const std::string& path, bool is_there) {
  errno = 0;
  Handle file(is_there ? H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                       : H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT),
              H5Fclose);
  if (file.valid()) return file;
  if (is_there) return unopened(path, LOCK_EX);
  const bool is_anothers = errno == EEXIST;
  Error failed = write_failure(path, "be created");
  std::error_code unknown;
  if (!is_anothers && std::filesystem::file_size(path, unknown) == 0) std::remove(path.c_str());
  return failed;
}

// Removes a partial output, and its file if that was made for it.
void discard(OpenDataset& open, const FileName& partial) {
  mute_library();
  H5Ldelete(open.file.get(), partial.dataset.c_str(), H5P_DEFAULT);
  open.dataset.end();
  open.file.end();
  if (open.has_made_file) std::remove(partial.path.c_str());
}

// Returns the extent of a chunk. It is one plane thick: planes arrive one by one, so each chunk is written once.
Vec3 chunk_of(Vec3 n) { return {1, std::min(chunk_edge, n.y), std::min(chunk_edge, n.x)}; }

Handle create_dataset(hid_t file, const std::string& dataset, const VolumeFacts& facts) {
  const auto size = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  std::array<hsize_t, 4> extents = {size(facts.channels), size(facts.n.z), size(facts.n.y), size(facts.n.x)};
  const Vec3 edges = chunk_of(facts.n);
  std::array<hsize_t, 4> chunk = {1, 1, size(edges.y), size(edges.x)};
  const int skip = facts.channels > 1 ? 0 : 1;
  const Handle space(H5Screate_simple(4 - skip, extents.data() + skip, nullptr), H5Sclose);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(creation.get(), 4 - skip, chunk.data() + skip);
  H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  const Handle linking(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(linking.get(), 1);
  const Handle type = stored_type(facts.type);
  Handle created(H5Dcreate2(file, dataset.c_str(), type.get(), space.get(), linking.get(), creation.get(), H5P_DEFAULT),
                 H5Dclose);
  if (created.valid() && H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) return {-1, H5Dclose};
  return created;
}

bool has_extents(hid_t dataset, const VolumeFacts& facts) {
  const auto size = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  std::vector<hsize_t> expected = {size(facts.n.z), size(facts.n.y), size(facts.n.x)};
  if (facts.channels > 1) expected.insert(expected.begin(), size(facts.channels));
  return dataset >= 0 && extents_of(dataset) == expected;
}

Handle partial_dataset(hid_t file, const std::string& dataset, const VolumeFacts& facts, bool goes_on) {
  if (goes_on) {
    Handle found(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose);
    return has_extents(found.get(), facts) ? std::move(found) : Handle(-1, H5Dclose);
  }
  H5Ldelete(file, dataset.c_str(), H5P_DEFAULT);
  return create_dataset(file, dataset, facts);
}

Error not_begun(const FileName& partial) {
  return {ErrorCode::corrupt_file,
          to_string(partial) + ": is not the partial output that was begun: start over with --overwrite"};
}

// Returns whether `name` is a group, which an output must not replace.
bool is_group(hid_t file, const std::string& name) {
  const Handle there(H5Oopen(file, name.c_str(), H5P_DEFAULT), H5Oclose);
  return there.valid() && H5Iget_type(there.get()) == H5I_GROUP;
}

// Renames the partial dataset. Replaces an older dataset of that name.
Result<void> finish(const OpenDataset& open, const FileName& name) {
  const std::string partial = partial_name(name).dataset;
  errno = 0;
  if (H5Fflush(open.file.get(), H5F_SCOPE_GLOBAL) < 0) return cannot(name, "be written");
  H5Ldelete(open.file.get(), name.dataset.c_str(), H5P_DEFAULT);
  const herr_t moved =
      H5Lmove(open.file.get(), partial.c_str(), open.file.get(), name.dataset.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  if (moved < 0 || H5Fflush(open.file.get(), H5F_SCOPE_GLOBAL) < 0) return cannot(name, "be finished");
  return {};
}

}  // namespace

Result<VolumeSource> open_hdf5(const FileName& name, std::int64_t max_cache) {
  mute_library();
  Handle file(H5Fopen(name.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.valid()) return unopened(name.path, LOCK_SH);
  const Result<std::string> dataset = dataset_name(file.get(), name);
  if (!dataset) return dataset.error();
  Handle data = open_cached(file.get(), *dataset, max_cache);
  const Result<VolumeFacts> facts = facts_of(data.get(), name.path + ":" + *dataset);
  if (!facts) return facts.error();
  const bool has_channels = extents_of(data.get()).size() == 4;
  auto open = std::make_shared<OpenDataset>(OpenDataset{std::move(file), std::move(data), *facts, has_channels});
  return VolumeSource{
      *facts,
      [open, name](std::int64_t z, const Box& box, std::span<std::byte> out) -> Result<void> {
        mute_library();
        if (transfer(*open, z, box, out.data(), Direction::read) >= 0) return {};
        return Error{ErrorCode::corrupt_file, to_string(name) + ": cannot read plane " + std::to_string(z)};
      },
      max_cache};
}

Result<void> check_hdf5_file(const std::string& path) {
  mute_library();
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return {};
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  return file.valid() ? Result<void>() : unopened(path, LOCK_SH);
}

bool hdf5_dataset_exists(const FileName& name) {
  mute_library();
  std::error_code unknown;
  if (!std::filesystem::exists(name.path, unknown)) return false;
  const Handle file(H5Fopen(name.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.valid()) return false;
  const Handle dataset(H5Dopen2(file.get(), name.dataset.c_str(), H5P_DEFAULT), H5Dclose);
  return dataset.valid();
}

std::string hdf5_dataset_mark(const FileName& name) {
  if (!hdf5_dataset_exists(name)) return "";
  const Handle file(H5Fopen(name.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const Handle dataset(H5Dopen2(file.get(), name.dataset.c_str(), H5P_DEFAULT), H5Dclose);
  H5O_info_t found{};
  return H5Oget_info(dataset.get(), &found) >= 0 ? std::to_string(found.addr) : "";
}

std::int64_t hdf5_dataset_bytes(const FileName& name) {
  if (!hdf5_dataset_exists(name)) return 0;
  const Handle file(H5Fopen(name.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const Handle dataset(H5Dopen2(file.get(), name.dataset.c_str(), H5P_DEFAULT), H5Dclose);
  return static_cast<std::int64_t>(H5Dget_storage_size(dataset.get()));
}

std::int64_t hdf5_bytes(const VolumeFacts& facts) {
  const Vec3 chunk = chunk_of(facts.n);
  const Vec3 stored = {facts.n.z, round_up(facts.n.y, chunk.y), round_up(facts.n.x, chunk.x)};
  return mul(mul(facts.channels, voxels(stored)), voxel_bytes(facts.type));
}

Result<VolumeTarget> open_hdf5_target(const FileName& name, const VolumeFacts& facts, bool goes_on) {
  mute_library();
  std::error_code unknown;
  const bool is_there = std::filesystem::exists(name.path, unknown);
  Result<Handle> file = open_or_create(name.path, is_there);
  if (!file) return file.error();
  if (is_group(file->get(), name.dataset)) {
    return Error{ErrorCode::invalid_argument, to_string(name) + ": is a group: name a dataset in it"};
  }
  errno = 0;
  Handle data = partial_dataset(file->get(), partial_name(name).dataset, facts, goes_on);
  auto open = std::make_shared<OpenDataset>(
      OpenDataset{*std::move(file), std::move(data), facts, facts.channels > 1, !is_there});
  if (!open->dataset.valid()) {
    if (goes_on) return not_begun(partial_name(name));
    const Error failed = cannot(name, "create the partial dataset");
    discard(*open, partial_name(name));
    return failed;
  }
  VolumeTarget target;
  target.write_plane = [open, name](std::int64_t z, const Box& box, std::span<const std::byte> plane) -> Result<void> {
    errno = 0;
    // transfer() takes a mutable pointer, but writing does not change the voxels.
    if (transfer(*open, z, box, const_cast<std::byte*>(plane.data()), Direction::write) >= 0) return {};
    return cannot(name, "write plane " + std::to_string(z));
  };
  target.flush = [open, name]() -> Result<void> {
    errno = 0;
    if (H5Fflush(open->file.get(), H5F_SCOPE_GLOBAL) >= 0) return sync_file(name.path);
    return cannot(name, "be flushed");
  };
  target.finish = [open, name] { return finish(*open, name); };
  target.discard = [open, name] { discard(*open, partial_name(name)); };
  return target;
}

}  // namespace znni::client
