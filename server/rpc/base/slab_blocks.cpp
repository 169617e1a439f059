#include "server/rpc/base/slab_blocks.hpp"

#include <algorithm>

namespace znni::rpc {

Result<void> SlabBlocks::reserve(std::int64_t bytes, std::int64_t count) {
  const std::scoped_lock lock(mutex_);
  const auto before = static_cast<std::ptrdiff_t>(blocks_.size());
  for (std::int64_t block = 0; block < count; ++block) {
    if (Result<void> added = add(bytes); !added) {
      blocks_.erase(blocks_.begin() + before, blocks_.end());
      return added;
    }
  }
  return {};
}

void SlabBlocks::clear() {
  const std::scoped_lock lock(mutex_);
  blocks_.clear();
}

Result<void> SlabBlocks::add(std::int64_t bytes) {
  Result<TransportLease> lease = server_.lease(bytes);
  if (!lease) return lease.error();
  Result<Bytes> block = Bytes::allocate(bytes);
  if (!block) return block.error();
  blocks_.push_back({*std::move(lease), *std::move(block), false});
  return {};
}

Result<std::byte*> SlabBlocks::take(std::int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto fits = [bytes](const Block& block) { return !block.taken && block.bytes.size() >= bytes; };
  auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
  if (found == blocks_.end()) {
    if (const Result<void> added = add(bytes); !added) return added.error();
    found = std::prev(blocks_.end());
  }
  found->taken = true;
  return found->bytes.data();
}

void SlabBlocks::give_back(const std::byte* data) {
  const std::scoped_lock lock(mutex_);
  const auto found =
      std::find_if(blocks_.begin(), blocks_.end(), [data](const Block& block) { return block.bytes.data() == data; });
  ensure(found != blocks_.end() && found->taken, "a slab was given back that was not taken");
  found->taken = false;
}

}  // namespace znni::rpc
