#include "primitives/core/memory.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "primitives/core/shape.hpp"

namespace znni {
namespace {

// A transient buffer to pack; `index` is its place in the MemoryPlan.
struct Item {
  std::size_t index = 0;
  std::int64_t bytes = 0;
  int first = 0;
  int last = 0;
  std::int64_t offset = -1;
};

bool alive_together(const Item& a, const Item& b) { return a.first <= b.last && b.first <= a.last; }

std::vector<Item> transient_items(const MemoryPlan& plan, MemorySpace space) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Buffer& buffer = plan[i];
    if (buffer.space != space || buffer.lifetime.persistent) continue;
    items.push_back({i, round_up(buffer.bytes, buffer_alignment), buffer.lifetime.first, buffer.lifetime.last});
  }
  return items;
}

std::int64_t live_bytes(const std::vector<Item>& items, int stage) {
  std::int64_t sum = 0;
  for (const Item& item : items) {
    if (item.first <= stage && stage <= item.last) sum = add(sum, item.bytes);
  }
  return sum;
}

// Returns the largest sum of live bytes. It suffices to look where a buffer begins, because only there the sum rises.
std::int64_t lower_bound(const std::vector<Item>& items) {
  std::int64_t most = 0;
  for (const Item& item : items) most = std::max(most, live_bytes(items, item.first));
  return most;
}

// Returns the items among items[0, count) that are alive together with `item`, by offset.
std::vector<const Item*> neighbours(const std::vector<Item>& items, std::size_t count, const Item& item) {
  std::vector<const Item*> found;
  for (std::size_t i = 0; i < count; ++i) {
    if (alive_together(items[i], item)) found.push_back(&items[i]);
  }
  std::sort(found.begin(), found.end(), [](const Item* a, const Item* b) { return a->offset < b->offset; });
  return found;
}

std::int64_t lowest_gap(const std::vector<const Item*>& placed, std::int64_t bytes) {
  std::int64_t at = 0;
  for (const Item* other : placed) {
    if (other->offset - at >= bytes) return at;
    at = std::max(at, add(other->offset, other->bytes));
  }
  return at;
}

std::optional<std::int64_t> highest_gap(const std::vector<const Item*>& placed, std::int64_t bytes,
                                        std::int64_t capacity) {
  std::int64_t end = capacity;
  for (auto it = placed.rbegin(); it != placed.rend(); ++it) {
    if (end - ((*it)->offset + (*it)->bytes) >= bytes) return end - bytes;
    end = std::min(end, (*it)->offset);
  }
  return end >= bytes ? std::optional(end - bytes) : std::nullopt;
}

// Depth-first search: places each item, in order of time, at the lowest or the highest offset that fits under
// `capacity`.
class ExactPacker {
 public:
  ExactPacker(std::vector<Item>& items, std::int64_t capacity) : items_(items), capacity_(capacity) {}

  bool place(std::size_t next) {
    if (next == items_.size()) return true;
    if (--steps_left_ < 0) return false;
    const std::vector<const Item*> placed = neighbours(items_, next, items_[next]);
    const std::int64_t bytes = items_[next].bytes;
    const std::int64_t low = lowest_gap(placed, bytes);
    if (add(low, bytes) > capacity_) return false;
    const std::int64_t high = highest_gap(placed, bytes, capacity_).value_or(low);
    return try_at(next, low) || (high != low && try_at(next, high));
  }

 private:
  bool try_at(std::size_t next, std::int64_t offset) {
    items_[next].offset = offset;
    return place(next + 1);
  }

  std::vector<Item>& items_;
  std::int64_t capacity_;
  int steps_left_ = 20000;
};

std::int64_t pack_greedily(std::vector<Item>& items) {
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.index < b.index; });
  std::int64_t end = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].offset = lowest_gap(neighbours(items, i, items[i]), items[i].bytes);
    end = std::max(end, add(items[i].offset, items[i].bytes));
  }
  return end;
}

}  // namespace

std::int64_t peak(const MemoryPlan& plan, MemorySpace space) {
  std::int64_t most = 0;
  for (const Buffer& start : plan) {
    if (start.lifetime.persistent) continue;
    std::int64_t sum = 0;
    for (const Buffer& buffer : plan) {
      const Lifetime& life = buffer.lifetime;
      const bool alive = !life.persistent && life.first <= start.lifetime.first && start.lifetime.first <= life.last;
      if (alive && buffer.space == space) sum = add(sum, buffer.bytes);
    }
    most = std::max(most, sum);
  }
  return most;
}

std::int64_t persistent_bytes(const MemoryPlan& plan, MemorySpace space) {
  std::int64_t sum = 0;
  for (const Buffer& buffer : plan) {
    if (buffer.lifetime.persistent && buffer.space == space) sum = add(sum, buffer.bytes);
  }
  return sum;
}

int stage_count(const MemoryPlan& plan) {
  int count = 1;
  for (const Buffer& buffer : plan) count = std::max(count, buffer.lifetime.last + 1);
  return count;
}

Packing pack(const MemoryPlan& plan, MemorySpace space) {
  std::vector<Item> items = transient_items(plan, space);
  Packing packing{lower_bound(items), std::vector<std::int64_t>(plan.size(), -1)};
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.first < b.first; });
  if (!ExactPacker(items, packing.bytes).place(0)) packing.bytes = pack_greedily(items);
  for (const Item& item : items) packing.offsets[item.index] = item.offset;
  return packing;
}

MemoryPlan shifted(MemoryPlan plan, int stages) {
  for (Buffer& buffer : plan) {
    if (buffer.lifetime.persistent) continue;
    buffer.lifetime.first += stages;
    buffer.lifetime.last += stages;
  }
  return plan;
}

std::string_view to_string(MemorySpace space) {
  return space == MemorySpace::host ? "host" : space == MemorySpace::pinned ? "pinned" : "device";
}

}  // namespace znni
