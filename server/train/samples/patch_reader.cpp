#include "server/train/samples/patch_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "client/files/sent_source.hpp"

namespace znni {
namespace {

using client::Box;
using client::VolumeFacts;
using client::VoxelType;

std::size_t byte_place(std::int64_t number) { return static_cast<std::size_t>(number); }

std::int64_t bytes_of(const VolumeFacts& facts, Vec3 n) {
  return mul(mul(facts.channels, voxels(n)), client::voxel_bytes(facts.type));
}

template <class Label>
std::vector<std::uint64_t> widened(const std::vector<std::byte>& bytes) {
  std::vector<std::uint64_t> labels(bytes.size() / sizeof(Label));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Label label = 0;
    std::memcpy(&label, bytes.data() + i * sizeof(Label), sizeof(Label));
    labels[i] = label;
  }
  return labels;
}

// Returns the bytes of unpacked chunks that one more reader may hold: a part of what is left for all volumes. While a
// volume is read into memory, the rest of the run's memory is not used yet.
std::int64_t cache_of(const VolumeMemory& memory) {
  const std::int64_t left = std::max<std::int64_t>(0, memory.max_bytes - memory.bytes);
  return std::min(client::max_cache_bytes, memory.keeps_volumes ? left : left / 4);
}

}  // namespace

Result<PatchReader> PatchReader::open(const std::string& name, VolumeMemory& memory) {
  Result<client::VolumeSource> source = client::open_source(client::parse_file_name(name), cache_of(memory));
  if (!source) return source.error();
  const VoxelType stored = source->facts.type;
  return keep(PatchReader(name, client::as_sent(*std::move(source), name, "save it as float32"), stored), memory);
}

Result<PatchReader> PatchReader::open_labels(const std::string& name, VolumeMemory& memory) {
  Result<client::VolumeSource> source = client::open_labels(client::parse_file_name(name), cache_of(memory));
  if (!source) return source.error();
  if (source->facts.channels != 1) {
    return Error{ErrorCode::invalid_argument,
                 name + ": has " + std::to_string(source->facts.channels) + " channels; labels have one"};
  }
  const VoxelType stored = source->facts.type;
  return keep(PatchReader(name, *std::move(source), stored), memory);
}

// Reads the whole volume, if volumes are kept. Then the file is not needed any more.
Result<PatchReader> PatchReader::keep(PatchReader reader, VolumeMemory& memory) {
  if (!memory.keeps_volumes) {
    memory.bytes += reader.source_.cache_bytes;
    return reader;
  }
  const Vec3 n = reader.facts().n;
  const std::int64_t bytes = bytes_of(reader.facts(), n);
  if (add(memory.bytes, bytes) > memory.max_bytes) {
    return Error{ErrorCode::over_budget, reader.name() + ": takes " + std::to_string(bytes) + " bytes beside " +
                                             std::to_string(memory.bytes) + " of other volumes, and " +
                                             std::to_string(memory.max_bytes) +
                                             " may be used for all; read patches from the files"};
  }
  Result<std::vector<std::byte>> kept = reader.read_file({{}, n});
  if (!kept) return kept.error();
  reader.kept_ = *std::move(kept);
  reader.source_.read_plane = nullptr;
  memory.bytes += bytes;
  return reader;
}

Result<std::vector<std::byte>> PatchReader::read(const Box& box) const {
  if (kept_.empty()) return read_file(box);
  const Vec3 n = facts().n;
  const std::int64_t voxel = client::voxel_bytes(facts().type);
  const Vec3 extent = box.extent();
  std::vector<std::byte> voxels(byte_place(bytes_of(facts(), extent)));
  std::byte* to = voxels.data();
  for (std::int64_t channel = 0; channel < facts().channels; ++channel) {
    for (std::int64_t z = box.start.z; z < box.stop.z; ++z) {
      for (std::int64_t y = box.start.y; y < box.stop.y; ++y) {
        const std::int64_t from = (((channel * n.z + z) * n.y + y) * n.x + box.start.x) * voxel;
        std::memcpy(to, kept_.data() + from, byte_place(extent.x * voxel));
        to += extent.x * voxel;
      }
    }
  }
  return voxels;
}

std::int64_t PatchReader::bytes_beside(Vec3 extent) const {
  if (!kept_.empty()) return 0;
  const std::int64_t as_stored = stored_ == facts().type ? 0 : client::voxel_bytes(stored_);
  return mul(mul(facts().channels, mul(extent.y, extent.x)), client::voxel_bytes(facts().type) + as_stored);
}

// Files are read plane by plane, with the channels side by side in each.
Result<std::vector<std::byte>> PatchReader::read_file(const Box& box) const {
  const Vec3 extent = box.extent();
  const std::int64_t plane = extent.y * extent.x * client::voxel_bytes(facts().type);
  std::vector<std::byte> voxels(byte_place(bytes_of(facts(), extent)));
  std::vector<std::byte> channels(byte_place(plane * facts().channels));
  for (std::int64_t z = 0; z < extent.z; ++z) {
    if (Result<void> read = source_.read_plane(box.start.z + z, box, channels); !read) return read.error();
    for (std::int64_t channel = 0; channel < facts().channels; ++channel) {
      std::memcpy(voxels.data() + (channel * extent.z + z) * plane, channels.data() + channel * plane,
                  byte_place(plane));
    }
  }
  return voxels;
}

Result<std::vector<float>> read_input(const PatchReader& reader, const Box& box, float scale, float offset) {
  const Result<std::vector<std::byte>> bytes = reader.read(box);
  if (!bytes) return bytes.error();
  std::vector<float> input(bytes->size() / byte_place(client::voxel_bytes(reader.facts().type)));
  client::normalise(*bytes, reader.facts().type, scale, offset, input);
  if (std::all_of(input.begin(), input.end(), [](float voxel) { return std::isfinite(voxel); })) return input;
  return Error{ErrorCode::invalid_argument, reader.name() + ": a voxel of " + client::to_string(box) +
                                                " is NaN or infinite; replace it by a number"};
}

Result<std::vector<std::uint64_t>> read_labels(const PatchReader& reader, const Box& box) {
  const Result<std::vector<std::byte>> bytes = reader.read(box);
  if (!bytes) return bytes.error();
  switch (reader.facts().type) {
    case VoxelType::u8: return widened<std::uint8_t>(*bytes);
    case VoxelType::u16: return widened<std::uint16_t>(*bytes);
    case VoxelType::u32: return widened<std::uint32_t>(*bytes);
    case VoxelType::u64: return widened<std::uint64_t>(*bytes);
    case VoxelType::i8:
    case VoxelType::i16:
    case VoxelType::i32:
    case VoxelType::i64:
    case VoxelType::f16:
    case VoxelType::f32:
    case VoxelType::f64: break;
  }
  return Error{ErrorCode::internal, reader.name() + ": no labels"};
}

}  // namespace znni
