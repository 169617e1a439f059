#include "client/files/hdf5_compressed.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "client/files/hdf5_chunks.hpp"
#include "client/files/hdf5_output.hpp"
#include "client/files/packing.hpp"
#include "client/files/piece_gatherer.hpp"
#include "primitives/core/write_atomically.hpp"

namespace znni::client {
namespace {

// The pieces of each chunk, by channel, z, y and x of its first voxel.
using PiecesOfChunks = std::map<std::array<std::int64_t, 4>, std::vector<Piece>>;

class Hdf5Compressed {
 public:
  Hdf5Compressed(FileName name, const ChunkGrid& grid, Hdf5OutputFile file, PieceFile pieces)
      : name_(std::move(name)),
        grid_(grid),
        file_(std::move(file)),
        pieces_(std::move(pieces)),
        gatherer_(grid_, pieces_) {}

  Result<void> write(std::int64_t z, const Box& box, std::span<const std::byte> plane) {
    return gatherer_.take(z, box, plane);
  }

  Result<void> flush() {
    const Result<void> ended = gatherer_.end_layer();
    return ended ? pieces_.sync() : ended;
  }

  // Nothing in the file leads to the new dataset until all of it is on disk.
  Result<void> finish(const std::stop_token& stop) {
    mute_hdf5();
    if (Result<void> flushed = flush(); !flushed) return flushed;
    errno = 0;
    const Hdf5Handle dataset = create();
    if (!dataset.valid()) return cannot("create the dataset");
    if (Result<void> filled = fill(dataset.get(), stop); !filled) return filled;
    if (Result<void> kept = bring_to_disk(); !kept) return kept;
    H5Ldelete(file_.file.get(), name_.dataset.c_str(), H5P_DEFAULT);
    const Hdf5Handle linking = hdf5_link_properties();
    if (H5Olink(dataset.get(), file_.file.get(), name_.dataset.c_str(), linking.get(), H5P_DEFAULT) < 0) {
      return cannot("be finished");
    }
    if (Result<void> kept = bring_to_disk(); !kept) return kept;
    std::remove(partial_name(name_).path.c_str());
    return {};
  }

  void discard() {
    mute_hdf5();
    file_.file.end();
    std::remove(partial_name(name_).path.c_str());
    if (file_.is_new) std::remove(name_.path.c_str());
  }

 private:
  [[nodiscard]] Error cannot(const std::string& what) const { return write_failure(to_string(name_), what); }

  // Returns a dataset without a name.
  [[nodiscard]] Hdf5Handle create() const {
    const VolumeFacts& facts = grid_.facts;
    const std::vector<hsize_t> extents = hdf5_axes(facts.channels, facts.n);
    std::vector<hsize_t> chunk = hdf5_axes(facts.channels, grid_.chunk);
    if (facts.channels > 1) chunk.front() = 1;
    const auto rank = static_cast<int>(extents.size());
    const Hdf5Handle space(H5Screate_simple(rank, extents.data(), nullptr), H5Sclose);
    const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(creation.get(), rank, chunk.data());
    H5Pset_shuffle(creation.get());
    H5Pset_deflate(creation.get(), gzip_level);
    H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
    const Hdf5Handle type = hdf5_type(facts.type);
    Hdf5Handle made(H5Dcreate_anon(file_.file.get(), type.get(), space.get(), creation.get(), H5P_DEFAULT), H5Dclose);
    const bool is_sound = made.valid() && note_hdf5_offset(made.get(), facts.offset);
    return is_sound ? std::move(made) : Hdf5Handle(-1, H5Dclose);
  }

  [[nodiscard]] PiecesOfChunks pieces_of_chunks() const {
    PiecesOfChunks found;
    for (const Piece& piece : pieces_.pieces()) {
      const Vec3 start = grid_.box_at(piece.box.start).start;
      found[{piece.channel, start.z, start.y, start.x}].push_back(piece);
    }
    return found;
  }

  // Writes all chunks, packed as they are.
  [[nodiscard]] Result<void> fill(hid_t dataset, const std::stop_token& stop) const {
    const PiecesOfChunks chunks = pieces_of_chunks();
    if (static_cast<std::int64_t>(chunks.size()) != grid_.count()) {
      return Error{ErrorCode::corrupt_file, pieces_.path() + ": has " + std::to_string(chunks.size()) + " of " +
                                                std::to_string(grid_.count()) + " chunks: start over with --overwrite"};
    }
    const std::size_t skipped = grid_.facts.channels > 1 ? 0 : 1;
    for (const auto& [start, pieces] : chunks) {
      if (stop.stop_requested()) return Error{ErrorCode::cancelled, "interrupted"};
      const Result<std::vector<std::byte>> packed = packed_chunk(grid_, pieces_, pieces);
      if (!packed) return packed.error();
      const std::vector<hsize_t> offset(start.begin() + static_cast<std::ptrdiff_t>(skipped), start.end());
      errno = 0;
      if (H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset.data(), packed->size(), packed->data()) < 0) {
        return cannot("be written");
      }
    }
    return {};
  }

  [[nodiscard]] Result<void> bring_to_disk() const {
    errno = 0;
    if (H5Fflush(file_.file.get(), H5F_SCOPE_GLOBAL) < 0) return cannot("be written");
    return sync_file(name_.path);
  }

  FileName name_;
  ChunkGrid grid_;
  Hdf5OutputFile file_;
  PieceFile pieces_;
  PieceGatherer gatherer_;
};

// Returns what the pieces are of. Those of another output, or of other chunks, cannot be gone on with.
std::string title_of(const ChunkGrid& grid) {
  return "znni pieces 1: " + std::to_string(grid.facts.channels) + " x " + to_string(grid.facts.n) + " " +
         numpy_name(grid.facts.type) + " in chunks of " + to_string(grid.chunk);
}

// Writes what a file needs to be opened again, and removes the partial output of a run without compression.
Result<void> begin_file(const Hdf5OutputFile& file, FileName name) {
  name.is_compressed = false;
  errno = 0;
  H5Ldelete(file.file.get(), partial_name(name).dataset.c_str(), H5P_DEFAULT);
  if (H5Fflush(file.file.get(), H5F_SCOPE_GLOBAL) >= 0) return {};
  return write_failure(name.path, "be written");
}

Result<PieceFile> open_pieces(const Hdf5OutputFile& file, const FileName& name, const ChunkGrid& grid, bool goes_on) {
  if (!goes_on) {
    if (Result<void> begun = begin_file(file, name); !begun) return begun.error();
  }
  return PieceFile::open(partial_name(name).path, title_of(grid), goes_on);
}

}  // namespace

Result<VolumeTarget> open_hdf5_compressed(const FileName& name, const VolumeFacts& facts, bool goes_on,
                                          std::stop_token stop) {
  Result<Hdf5OutputFile> file = open_hdf5_output(name);
  if (!file) return file.error();
  const ChunkGrid grid{facts, chunk_of_compressed(facts)};
  Result<PieceFile> pieces = open_pieces(*file, name, grid, goes_on);
  if (!pieces) {
    file->file.end();
    if (file->is_new) std::remove(name.path.c_str());
    return pieces.error();
  }
  const auto made = std::make_shared<Hdf5Compressed>(name, grid, *std::move(file), *std::move(pieces));
  VolumeTarget target;
  target.planes_at_once = grid.chunk.z;
  target.write_plane = [made](std::int64_t z, const Box& box, std::span<const std::byte> plane) {
    return made->write(z, box, plane);
  };
  target.flush = [made] { return made->flush(); };
  target.finish = [made, stop = std::move(stop)] { return made->finish(stop); };
  target.discard = [made] { made->discard(); };
  return target;
}

}  // namespace znni::client
