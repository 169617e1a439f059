#include "client/cli/tiff_parts.hpp"

#include <filesystem>
#include <vector>

#include "client/cli/npy_volume.hpp"
#include "client/cli/tiff_volume.hpp"

namespace znni::client {
namespace {

Result<void> copy_planes(const VolumeSource& from, const VolumeTarget& to) {
  const VolumeFacts& facts = from.facts;
  const Box whole{{0, 0, 0}, facts.n};
  std::vector<std::byte> plane(static_cast<std::size_t>(facts.n.y * facts.n.x * voxel_bytes(facts.type)));
  for (std::int64_t z = 0; z < facts.n.z; ++z) {
    if (Result<void> read = from.read_plane(z, whole, plane); !read) return read;
    if (Result<void> written = to.write_plane(z, whole, plane); !written) return written;
  }
  return to.finish();
}

// Beside it first, so that a stack of that name is a whole one.
Result<void> make_stack(const FileName& name, const std::string& gathered) {
  const Result<VolumeSource> source = open_npy(gathered);
  if (!source) return source.error();
  const FileName beside{name.path + ".new", ""};
  const Result<VolumeTarget> stack = open_tiff_target(beside, source->facts, 0);
  if (!stack) return stack.error();
  if (Result<void> copied = copy_planes(*source, *stack); !copied) return copied;
  std::error_code failed;
  std::filesystem::rename(beside.path, name.path, failed);
  if (failed) return Error{ErrorCode::device_failure, name.path + ": cannot be finished: " + failed.message()};
  std::filesystem::remove(gathered, failed);
  return {};
}

}  // namespace

Result<VolumeTarget> open_tiff_target_in_parts(const FileName& name, const VolumeFacts& facts, bool goes_on) {
  Result<VolumeTarget> target = open_npy_target(name, facts, goes_on);
  if (!target) return target;
  target->finish = [flush = target->flush, name]() -> Result<void> {
    if (Result<void> flushed = flush(); !flushed) return flushed;
    return make_stack(name, partial_name(name).path);
  };
  return target;
}

}  // namespace znni::client
