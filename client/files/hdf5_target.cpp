#include "client/files/hdf5_target.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "client/files/hdf5_chunks.hpp"
#include "client/files/hdf5_output.hpp"
#include "primitives/core/write_atomically.hpp"

namespace znni::client {
namespace {

// A partial output.
struct Hdf5Target {
  OpenDataset open;
  bool has_made_file = false;
};

Error cannot(const FileName& name, const std::string& what) { return write_failure(to_string(name), what); }

// Removes a partial output, and its file if that was made for it.
void discard(Hdf5Target& target, const FileName& partial) {
  mute_hdf5();
  H5Ldelete(target.open.file.get(), partial.dataset.c_str(), H5P_DEFAULT);
  target.open.dataset.end();
  target.open.file.end();
  if (target.has_made_file) std::remove(partial.path.c_str());
}

Hdf5Handle create_dataset(hid_t file, const std::string& dataset, const VolumeFacts& facts) {
  const std::vector<hsize_t> extents = hdf5_axes(facts.channels, facts.n);
  std::vector<hsize_t> chunk = hdf5_axes(facts.channels, chunk_of_planes(facts.n));
  if (facts.channels > 1) chunk.front() = 1;
  const auto rank = static_cast<int>(extents.size());
  const Hdf5Handle space(H5Screate_simple(rank, extents.data(), nullptr), H5Sclose);
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(creation.get(), rank, chunk.data());
  H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  const Hdf5Handle linking = hdf5_link_properties();
  const Hdf5Handle type = hdf5_type(facts.type);
  Hdf5Handle created(
      H5Dcreate2(file, dataset.c_str(), type.get(), space.get(), linking.get(), creation.get(), H5P_DEFAULT), H5Dclose);
  const bool is_sound =
      created.valid() && note_hdf5_offset(created.get(), facts.offset) && H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0;
  return is_sound ? std::move(created) : Hdf5Handle(-1, H5Dclose);
}

Hdf5Handle partial_dataset(hid_t file, const std::string& dataset, const VolumeFacts& facts, bool goes_on) {
  if (goes_on) {
    Hdf5Handle found(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose);
    const bool is_begun = found.valid() && hdf5_extents(found.get()) == hdf5_axes(facts.channels, facts.n);
    return is_begun ? std::move(found) : Hdf5Handle(-1, H5Dclose);
  }
  H5Ldelete(file, dataset.c_str(), H5P_DEFAULT);
  return create_dataset(file, dataset, facts);
}

// Removes the partial output of a run that compressed.
void remove_pieces(FileName name) {
  name.is_compressed = true;
  std::remove(partial_name(name).path.c_str());
}

Error not_begun(const FileName& partial) {
  return {ErrorCode::corrupt_file,
          to_string(partial) + ": is not the partial output that was begun: start over with --overwrite"};
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

Result<VolumeTarget> open_hdf5_target(const FileName& name, const VolumeFacts& facts, bool goes_on) {
  Result<Hdf5OutputFile> file = open_hdf5_output(name);
  if (!file) return file.error();
  errno = 0;
  Hdf5Handle data = partial_dataset(file->file.get(), partial_name(name).dataset, facts, goes_on);
  const auto made = std::make_shared<Hdf5Target>(
      Hdf5Target{{std::move(file->file), std::move(data), facts, facts.channels > 1}, file->is_new});
  if (!made->open.dataset.valid()) {
    if (goes_on) return not_begun(partial_name(name));
    const Error failed = cannot(name, "create the partial dataset");
    discard(*made, partial_name(name));
    return failed;
  }
  if (!goes_on) remove_pieces(name);
  VolumeTarget target;
  target.write_plane = [made, name](std::int64_t z, const Box& box, std::span<const std::byte> plane) -> Result<void> {
    errno = 0;
    if (write_hdf5_plane(made->open, z, box, plane)) return {};
    return cannot(name, "write plane " + std::to_string(z));
  };
  target.flush = [made, name]() -> Result<void> {
    errno = 0;
    if (H5Fflush(made->open.file.get(), H5F_SCOPE_GLOBAL) >= 0) return sync_file(name.path);
    return cannot(name, "be flushed");
  };
  target.finish = [made, name] { return finish(made->open, name); };
  target.discard = [made, name] { discard(*made, partial_name(name)); };
  return target;
}

}  // namespace znni::client
