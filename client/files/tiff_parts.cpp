#include "client/files/tiff_parts.hpp"

#include <filesystem>
#include <utility>
#include <vector>

#include "client/files/npy_volume.hpp"
#include "client/files/tiff_volume.hpp"

namespace znni::client {
namespace {

Result<void> copy_planes(const VolumeSource& from, const VolumeTarget& to, const std::stop_token& stop) {
  const VolumeFacts& facts = from.facts;
  const Box whole{{0, 0, 0}, facts.n};
  std::vector<std::byte> plane(static_cast<std::size_t>(facts.n.y * facts.n.x * voxel_bytes(facts.type)));
  for (std::int64_t z = 0; z < facts.n.z; ++z) {
    if (stop.stop_requested()) return Error{ErrorCode::cancelled, "interrupted"};
    if (Result<void> read = from.read_plane(z, whole, plane); !read) return read;
    if (Result<void> written = to.write_plane(z, whole, plane); !written) return written;
  }
  return to.finish();
}

Result<void> fill_stack(const FileName& name, const std::string& gathered, const std::stop_token& stop) {
  const Result<VolumeSource> source = open_npy(gathered);
  if (!source) return source.error();
  const Result<VolumeTarget> stack = open_tiff_target(name, source->facts, 0);
  if (!stack) return stack.error();
  return copy_planes(*source, *stack, stop);
}

// Makes the stack under another name and then renames it, so that a stack of the final name is complete.
Result<void> make_stack(const FileName& name, const std::string& gathered, const std::stop_token& stop) {
  const FileName beside{name.path + ".new", ""};
  Result<void> made = fill_stack(beside, gathered, stop);
  std::error_code failed;
  if (made) std::filesystem::rename(beside.path, name.path, failed);
  if (failed) made = Error{ErrorCode::device_failure, name.path + ": cannot be finished: " + failed.message()};
  const std::string unfinished = partial_name(beside).path;
  for (const std::string& useless : made ? std::vector{gathered} : std::vector{beside.path, unfinished}) {
    std::filesystem::remove(useless, failed);
  }
  return made;
}

}  // namespace

Result<VolumeTarget> open_tiff_target_in_parts(const FileName& name, const VolumeFacts& facts, bool goes_on,
                                               std::stop_token stop) {
  Result<VolumeTarget> target = open_npy_target(name, facts, goes_on);
  if (!target) return target;
  target->finish = [flush = target->flush, name, stop = std::move(stop)]() -> Result<void> {
    if (Result<void> flushed = flush(); !flushed) return flushed;
    return make_stack(name, partial_name(name).path, stop);
  };
  return target;
}

}  // namespace znni::client
