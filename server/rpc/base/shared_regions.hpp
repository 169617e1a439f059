// Memory that clients on the same host share with the daemon, under names they chose. A region is read and written as a
// file, never mapped. A client that cuts it short while it is in use then gets an error, where a mapping would end the
// daemon with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "primitives/core/result.hpp"

namespace znni::rpc {

// Part of a region, as a request names it.
struct RegionRange {
  std::string region;
  std::int64_t offset = 0;  // from the region's start
  std::int64_t bytes = 0;
  bool operator==(const RegionRange&) const = default;
};

// Thread safe: reads and writes carry their position.
class SharedRegion {
 public:
  // Opens a region. `key`: a name of POSIX shared memory, with or without its leading slash, and not another path. The
  // region is its bytes [offset, offset + bytes).
  [[nodiscard]] static Result<std::shared_ptr<const SharedRegion>> open(const std::string& key, std::int64_t offset,
                                                                        std::int64_t bytes);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  // Reads bytes. Fails with invalid_argument if the memory has become smaller than it was. The range must lie within
  // the region.
  [[nodiscard]] Result<void> read(std::int64_t at, std::span<std::byte> to) const;
  [[nodiscard]] Result<void> write(std::int64_t at, std::span<const std::byte> from) const;

 private:
  SharedRegion(std::string key, int file, std::int64_t offset, std::int64_t bytes)
      : key_(std::move(key)), file_(file), offset_(offset), bytes_(bytes) {}
  [[nodiscard]] Result<void> check_size(std::int64_t last) const;

  std::string key_;
  int file_;
  std::int64_t offset_;
  std::int64_t bytes_;
};

// Shared: a region that is unregistered lives on until the last request that uses it has ended.
using RegionHandle = std::shared_ptr<const SharedRegion>;

// Thread safe.
class SharedRegions {
 public:
  // Allows `most` regions, each of which keeps a descriptor.
  explicit SharedRegions(std::size_t most = 1024) : most_(most) {}

  // Adds a region. Returns false, and changes nothing, if the name is taken. Fails with unavailable if there are too
  // many.
  [[nodiscard]] Result<bool> add(const std::string& name, RegionHandle region);
  // Removes a region; "" removes all. A missing region is not an error.
  void remove(const std::string& name);
  // Returns the region of that name. Fails with not_found if there is none.
  [[nodiscard]] Result<RegionHandle> find(const std::string& name) const;
  // Returns the region of `range`. Fails with invalid_argument, with both sizes, if `range` does not lie within it.
  [[nodiscard]] Result<RegionHandle> find(const RegionRange& range) const;
  [[nodiscard]] std::map<std::string, RegionHandle> all() const;

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;  // guards regions_
  std::map<std::string, RegionHandle> regions_;
};

}  // namespace znni::rpc
