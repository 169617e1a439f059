// Combinations of the nodes so far, of which the best go on (planner/layers/node_choice.hpp).
#pragma once

#include <map>
#include <vector>

#include "planner/layers/node_choice.hpp"

namespace znni {

// A combination of the nodes so far; `parent` is the label it grew from.
struct Label {
  Seconds seconds = 0;
  std::int64_t persistent = 0;
  std::int64_t peak = 0;       // histories aside
  std::int64_t stem_peak = 0;  // within a stem in slabs, beside the output that it is filling
  std::int64_t histories = 0;  // in all stages
  int parent = -1;
  NodePick pick;
};

// Formats of the values alive, in the order of NetworkUse::live_after.
using State = std::vector<Format>;
using Front = std::vector<Label>;

// Beyond it so many of a front, and so many fronts, are kept at a node by few_of().
inline constexpr std::size_t max_front = 8;
inline constexpr std::size_t max_states = 32;

// Returns the labels that no other beats in time and every kind of bytes, by rising time; of equals the first. Fewer
// after a stop.
[[nodiscard]] Front pareto(Front labels, const StopQuestion& stop);

// Returns the fastest label of a front by rising time, those that need least, and some at equal distances between.
[[nodiscard]] Front few_of(const Front& front);
// Returns the states whose fastest labels are the fastest, and the one that needs least. No front is empty.
[[nodiscard]] std::map<State, Front> few_of(std::map<State, Front> states);

}  // namespace znni
