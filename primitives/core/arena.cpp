#include "primitives/core/arena.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace znni {
namespace {

// Returns true for a tensor that the caller of a layer holds for it. Such a tensor is alive in its stages and never
// granted. "input 3" is one, as is "output 1" of what writes two; "input transforms" is scratch.
bool belongs_to_caller(std::string_view name) {
  constexpr std::string_view input = "input ";
  const bool numbered = name.size() > input.size() && name.starts_with(input) &&
                        name.find_first_not_of("0123456789", input.size()) == std::string_view::npos;
  return numbered || name == "output" || name == "output 1";
}

void fill_with_nans(std::span<std::byte> block, MemorySpace space) {
  if (space != MemorySpace::device && !block.empty()) std::memset(block.data(), 0xff, block.size());
}

bool open(const Lifetime& life, int stage) { return life.persistent || (life.first <= stage && stage <= life.last); }

}  // namespace

Arena::Arena(std::vector<Placement> placements, bool poison) {
  if (poison) poison_ = fill_with_nans;
  for (Placement& placement : placements) slots_.push_back({std::move(placement), false});
  begin();
}

void Arena::begin() {
  for (Slot& slot : slots_) slot.granted = false;
  stage_ = 0;
  count_live();
}

void Arena::stage(int index) {
  ensure(index >= stage_, "stages of an arena only go forward");
  for (const Slot& slot : slots_) {
    const Lifetime& life = slot.placement.buffer.lifetime;
    if (slot.granted && open(life, stage_) && !open(life, index)) poison(slot);
  }
  stage_ = index;
  count_live();
}

void Arena::poison(const Slot& slot) const {
  const Buffer& buffer = slot.placement.buffer;
  if (!poison_ || buffer.lifetime.persistent) return;
  poison_({slot.placement.data, static_cast<std::size_t>(buffer.bytes)}, buffer.space);
}

std::span<std::byte> Arena::grant(std::string_view name) {
  const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                 [&](const Slot& candidate) { return candidate.placement.buffer.name == name; });
  ensure(slot != slots_.end(), "buffer '" + std::string(name) + "' was not declared");
  const Buffer& buffer = slot->placement.buffer;
  ensure(open(buffer.lifetime, stage_), "buffer '" + buffer.name + "' is not alive in this stage");
  ensure(!slot->granted, "buffer '" + buffer.name + "' was granted twice");
  slot->granted = true;
  poison(*slot);
  count_live();
  return {slot->placement.data, static_cast<std::size_t>(buffer.bytes)};
}

void Arena::count_live() {
  std::array<std::int64_t, 3> live = {};
  for (const Slot& slot : slots_) {
    const Buffer& buffer = slot.placement.buffer;
    if (buffer.lifetime.persistent || !open(buffer.lifetime, stage_)) continue;
    if (slot.granted || belongs_to_caller(buffer.name)) live[static_cast<std::size_t>(buffer.space)] += buffer.bytes;
  }
  for (std::size_t space = 0; space < live.size(); ++space)
    high_water_[space] = std::max(high_water_[space], live[space]);
}

}  // namespace znni
