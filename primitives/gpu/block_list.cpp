#include "primitives/gpu/block_list.hpp"

#include <algorithm>

#include "primitives/core/shape.hpp"

namespace znni::cuda {

BlockList::BlockList(std::int64_t bytes, std::int64_t alignment)
    : bytes_(bytes / alignment * alignment), alignment_(alignment) {}

std::optional<std::int64_t> BlockList::take(std::int64_t bytes) {
  ensure(bytes > 0, "a block has bytes");
  const std::int64_t whole = round_up(bytes, alignment_);
  std::int64_t gap = 0;  // where the gap before the next block begins
  for (const auto& [offset, size] : blocks_) {
    if (offset - gap >= whole) break;
    gap = offset + size;
  }
  if (bytes_ - gap < whole) return std::nullopt;
  blocks_.emplace(gap, whole);
  taken_ += whole;
  return gap;
}

void BlockList::give_back(std::int64_t offset) {
  const auto block = blocks_.find(offset);
  ensure(block != blocks_.end(), "a block that was not taken is given back");
  taken_ -= block->second;
  blocks_.erase(block);
}

std::int64_t BlockList::largest_gap() const {
  std::int64_t largest = 0;
  std::int64_t gap = 0;
  for (const auto& [offset, size] : blocks_) {
    largest = std::max(largest, offset - gap);
    gap = offset + size;
  }
  return std::max(largest, bytes_ - gap);
}

}  // namespace znni::cuda
