#include "server/rpc/base/shared_regions.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "primitives/core/shape.hpp"
#include "server/rpc/base/client_text.hpp"

namespace znni::rpc {
namespace {

Error wrong_region(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

std::string reason() { return std::system_category().message(errno); }

// Returns whether `key` is one name, not a path through folders.
bool is_name(std::string_view key) {
  if (key.starts_with('/')) key.remove_prefix(1);
  const auto plain = [](char c) { return c > ' ' && c < 0x7F && c != '/'; };
  return !key.empty() && key.size() < 255 && key.front() != '.' && std::all_of(key.begin(), key.end(), plain);
}

}  // namespace

Result<std::shared_ptr<const SharedRegion>> SharedRegion::open(const std::string& key, std::int64_t offset,
                                                               std::int64_t bytes) {
  if (!is_name(key))
    return wrong_region("shared memory key " + in_quotes(key) + " is not a name of shared memory like '/name'");
  if (offset < 0 || bytes < 1 || bytes > saturated - offset) {
    return wrong_region("shared memory " + in_quotes(key) + ": offset " + std::to_string(offset) + " and " +
                        std::to_string(bytes) + " bytes found, expected an offset of at least 0 and at least 1 byte");
  }
  const int file = shm_open((key.starts_with('/') ? key : "/" + key).c_str(), O_RDWR, 0);
  if (file < 0) {
    return Error{ErrorCode::invalid_argument, "shared memory " + in_quotes(key) + " cannot be opened: " + reason()};
  }
  std::shared_ptr<const SharedRegion> region(new SharedRegion(key, file, offset, bytes));
  struct stat facts {};
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return wrong_region("shared memory " + in_quotes(key) + " is none");
  }
  if (Result<void> large = region->check_size(bytes); !large) return large.error();
  return region;
}

SharedRegion::~SharedRegion() { close(file_); }

Result<void> SharedRegion::check_size(std::int64_t last) const {
  struct stat facts {};
  if (fstat(file_, &facts) != 0) return wrong_region("shared memory " + in_quotes(key_) + ": " + reason());
  if (facts.st_size >= offset_ + last) return {};
  return wrong_region("shared memory " + in_quotes(key_) + " has " + std::to_string(facts.st_size) + " bytes, " +
                      std::to_string(offset_ + last) + " are needed");
}

Result<void> SharedRegion::read(std::int64_t at, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = pread(file_, to.data(), to.size(), offset_ + at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wrong_region("shared memory " + in_quotes(key_) + " cannot be read: " + reason());
    if (got == 0) return wrong_region("shared memory " + in_quotes(key_) + " has become smaller than it was");
    at += got;
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Result<void> SharedRegion::write(std::int64_t at, std::span<const std::byte> from) const {
  // Writing past its end would make it larger.
  if (Result<void> large = check_size(at + static_cast<std::int64_t>(from.size())); !large) return large;
  while (!from.empty()) {
    const ssize_t put = pwrite(file_, from.data(), from.size(), offset_ + at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return wrong_region("shared memory " + in_quotes(key_) + " cannot be written: " + reason());
    at += put;
    from = from.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<bool> SharedRegions::add(const std::string& name, RegionHandle region) {
  const std::scoped_lock lock(mutex_);
  if (regions_.contains(name)) return false;
  if (regions_.size() >= most_) {
    return Error{
        ErrorCode::unavailable,
        std::to_string(regions_.size()) + " shared memory regions are registered, no more are taken; unregister some"};
  }
  regions_.emplace(name, std::move(region));
  return true;
}

void SharedRegions::remove(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  if (name.empty()) {
    regions_.clear();
  } else {
    regions_.erase(name);
  }
}

Result<RegionHandle> SharedRegions::find(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = regions_.find(name);
  if (found != regions_.end()) return found->second;
  return Error{ErrorCode::not_found, "shared memory region " + in_quotes(name) + " is not registered"};
}

Result<RegionHandle> SharedRegions::find(const RegionRange& range) const {
  Result<RegionHandle> region = find(range.region);
  if (!region) return region;
  const std::int64_t bytes = (*region)->bytes();
  if (range.offset >= 0 && range.bytes >= 0 && range.offset <= bytes && range.bytes <= bytes - range.offset)
    return region;
  return wrong_region("shared memory region " + in_quotes(range.region) + " has " + std::to_string(bytes) + " bytes, " +
                      std::to_string(range.bytes) + " at offset " + std::to_string(range.offset) + " are asked for");
}

std::map<std::string, RegionHandle> SharedRegions::all() const {
  const std::scoped_lock lock(mutex_);
  return regions_;
}

}  // namespace znni::rpc
