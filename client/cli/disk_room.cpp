#include "client/cli/disk_room.hpp"

#include <sys/statvfs.h>

#include <filesystem>

namespace znni::client {
namespace {

std::int64_t saturated(std::uintmax_t blocks, std::uintmax_t bytes) {
  return mul(static_cast<std::int64_t>(blocks), static_cast<std::int64_t>(bytes));
}

// Returns the voxels of one channel that have been written.
std::int64_t voxels_done(const OutputShare& share) {
  std::int64_t done = 0;
  for (std::int64_t part = 0; part < share.parts_done; ++part) done += voxels(share.parts.box(part).extent());
  if (share.planes_done == 0) return done;
  const Vec3 under_way = share.parts.box(share.parts_done).extent();
  return done + mul(share.planes_done, mul(under_way.y, under_way.x));
}

// Returns the folder of `path`, which need not exist.
std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool is_in_parts(const OutputShare& share) { return share.parts.count() > 1; }

// Returns what is missing of an output that takes `bytes`.
std::int64_t still_missing(const OutputBytes& bytes, const OutputShare& share) {
  const std::int64_t whole = voxels(share.facts.n);
  const std::int64_t done = voxels_done(share);
  const double missing = static_cast<double>(whole - done) / static_cast<double>(whole);
  const auto kept = done == 0 ? bytes.kept : static_cast<std::int64_t>(static_cast<double>(bytes.kept) * missing);
  return kept + bytes.at_the_end;
}

// Returns the bytes that are free for an output; nullopt if the system does not tell.
std::optional<std::int64_t> free_for(const FileName& name, const OutputShare& share, const SpaceOf& space_of) {
  const std::optional<DiskSpace> space = space_of(name.path);
  if (!space || space->total == 0) return std::nullopt;
  const bool begins = share.parts_done == 0 && share.planes_done == 0;
  return space->free + (begins ? bytes_of_partial(name) : 0);
}

}  // namespace

std::optional<DiskSpace> disk_space(const std::string& path) {
  struct statvfs found {};
  const bool is_known = ::statvfs(path.c_str(), &found) == 0 || ::statvfs(folder_of(path).c_str(), &found) == 0;
  if (!is_known) return std::nullopt;
  return DiskSpace{saturated(found.f_blocks, found.f_frsize), saturated(found.f_bavail, found.f_frsize)};
}

std::int64_t bytes_missing(const FileName& name, const OutputShare& share) {
  return still_missing(output_bytes(name, share.facts, is_in_parts(share)), share);
}

Result<void> check_room(const FileName& name, const OutputShare& share, const SpaceOf& space_of) {
  const std::optional<std::int64_t> free = free_for(name, share, space_of);
  const std::int64_t needed = bytes_missing(name, share);
  if (!free || needed <= *free) return {};
  return Error{ErrorCode::invalid_argument,
               to_string(name) + ": needs " + std::to_string(needed) + " bytes (" + bytes_text(needed) + ")" +
                   (name.is_compressed ? " at least" : "") + ", and " + std::to_string(*free) + " (" +
                   bytes_text(*free) +
                   ") are free on its file system: make room, or write elsewhere or as another --dtype"};
}

std::string room_warning(const FileName& name, const OutputShare& share, const SpaceOf& space_of) {
  if (!name.is_compressed) return "";
  const std::optional<std::int64_t> free = free_for(name, share, space_of);
  const std::int64_t needed = still_missing(max_output_bytes(name, share.facts, is_in_parts(share)), share);
  if (!free || needed <= *free) return "";
  return to_string(name) + ": may need up to " + bytes_text(needed) + " if its voxels hardly compress, and " +
         bytes_text(*free) + " are free on its file system: if that fills up, make room and go on with --resume";
}

}  // namespace znni::client
