#include "server/pipeline/rung_places.hpp"

#include <algorithm>
#include <optional>

namespace znni {
namespace {

// Returns the histories of all streamed rungs, from low to high; those of different rungs may overlap.
std::vector<ByteRange> histories_of(const std::vector<LadderRung>& designs) {
  std::vector<ByteRange> kept;
  for (const LadderRung& rung : designs) {
    if (!rung.cpu) continue;
    for (const ScheduledHistory& history : rung.cpu->whole.schedule.histories) {
      const auto buffer = static_cast<std::size_t>(history.buffer);
      kept.push_back({rung.cpu->packing.offsets[buffer], rung.cpu->whole.schedule.memory[buffer].bytes});
    }
  }
  std::sort(kept.begin(), kept.end(), [](const ByteRange& a, const ByteRange& b) { return a.first < b.first; });
  return kept;
}

// Returns the lowest place for `bytes` in a block of `capacity` that overlaps none of `kept`.
std::optional<std::int64_t> lowest_gap(const std::vector<ByteRange>& kept, std::int64_t bytes, std::int64_t capacity) {
  std::int64_t at = 0;
  for (const ByteRange& range : kept) {
    if (range.first - at >= bytes) return at;
    at = std::max(at, round_up(range.first + range.bytes, buffer_alignment));
  }
  return capacity - at >= bytes ? std::optional(at) : std::nullopt;
}

}  // namespace

std::vector<RungPlace> place_rungs(const std::vector<LadderRung>& designs) {
  const std::vector<ByteRange> kept = histories_of(designs);
  const auto bytes_of = [](const LadderRung& rung) { return rung.cpu ? rung.cpu->packing.bytes : 0; };
  const bool elsewhere =
      std::any_of(designs.begin(), designs.end(), [](const auto& rung) { return rung.split_streamed; });
  std::int64_t capacity = 0;
  for (const LadderRung& rung : designs) capacity = std::max(capacity, bytes_of(rung));
  std::vector<RungPlace> places;
  for (const LadderRung& rung : designs) {
    const std::int64_t bytes = bytes_of(rung);
    const bool may_move = rung.cpu && rung.cpu->whole.schedule.histories.empty() && (elsewhere || !kept.empty());
    const std::optional<std::int64_t> gap = may_move ? lowest_gap(kept, bytes, capacity) : std::nullopt;
    places.push_back({{gap.value_or(0), bytes}, gap.has_value()});
  }
  return places;
}

}  // namespace znni
