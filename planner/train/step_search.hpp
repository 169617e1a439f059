// Chooses a format for each tensor of a step and a way for each work. Two works that some primitive computes at once
// may have one way together. It looks for the least sum of seconds within a limit of bytes alive at once. For given
// formats this is exact: a work's tensors and those alive beside it are fixed, so that each work takes the fastest way
// that fits. Of formats a list is tried: all combinations if there are few, else those of the least sum of seconds and
// bytes at several prices of a byte. The list does not depend on the limit, so that a larger limit never gives a slower
// step.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "planner/train/min_sum.hpp"
#include "planner/train/step_ways.hpp"

namespace znni {

// A call of a step: what is computed, and how.
struct ChosenWay {
  int work = 0;  // of StepSearch::works()
  int way = 0;   // number of its way
};

struct StepChoice {
  Seconds seconds = 0;
  std::int64_t peak = 0;         // bytes alive at once
  std::vector<Format> formats;   // per tensor
  std::vector<ChosenWay> calls;  // in the order in which they run
};

class StepSearch {
 public:
  // References must outlive it. Tensors that the caller or the loss has, are planar.
  [[nodiscard]] static Result<StepSearch> make(const StepGraph& graph, const StepParts& parts);

  // Returns the fastest choice with a peak of up to `limit` bytes; nothing if there is none in the list.
  [[nodiscard]] std::optional<StepChoice> best(std::int64_t limit);
  // Returns the choice of the smallest peak; of equals the fastest. Nothing if a work has no way between its formats.
  [[nodiscard]] std::optional<StepChoice> smallest();
  // Returns the works of the graph, and behind them those that do two of them at once (both_gradients()).
  [[nodiscard]] const std::vector<StepWork>& works() const { return works_; }
  // Returns the seconds of each work of the graph by its fastest way, without reorders.
  [[nodiscard]] std::vector<Seconds> min_seconds() const;
  // Returns a line with the calls of a choice.
  [[nodiscard]] StepLine line_of(const StepChoice& choice);

 private:
  // What a way costs between formats.
  struct Priced {
    Seconds seconds = 0;
    std::int64_t peak = 0;  // of its own tensors and scratch
    int way = 0;
  };
  // The works of the graph, one or two, that a work does.
  struct Stretch {
    int first = 0;
    int last = 0;
    [[nodiscard]] bool has(int work) const { return first <= work && work <= last; }
  };
  using Front = std::vector<Priced>;  // rising seconds, falling peaks
  using Digits = std::vector<int>;    // per tensor: index into formats_

  StepSearch(const StepGraph& graph, const StepParts& parts) : graph_(&graph), parts_(&parts), reorders_(parts) {}
  [[nodiscard]] Result<void> find_ways();
  void find_formats();
  void find_lives();
  void list_candidates();
  [[nodiscard]] std::optional<Digits> priced_at(double seconds_per_byte, bool at_once);

  [[nodiscard]] std::int64_t bytes(int tensor, int format) const;
  [[nodiscard]] std::int64_t beside(std::size_t work, const Digits& digits) const;
  const Front& front(std::size_t work, const Digits& digits);
  [[nodiscard]] std::optional<Priced> price(std::size_t work, int way, const Digits& digits);
  [[nodiscard]] double min_cost(std::size_t work, const Digits& digits, double seconds_per_byte);
  [[nodiscard]] std::int64_t min_peak(std::size_t work, const Digits& digits);
  [[nodiscard]] std::optional<Priced> fastest(std::size_t work, const Digits& digits, std::int64_t limit);
  [[nodiscard]] SumTerm term_of(std::size_t work, double seconds_per_byte, bool at_once);
  [[nodiscard]] std::optional<StepChoice> choose(const Digits& digits, std::int64_t limit);

  const StepGraph* graph_;
  const StepParts* parts_;
  Reorders reorders_;
  std::vector<StepWork> works_;
  std::vector<int> together_;                    // per work of the graph: what does it and the next at once; -1: none
  std::vector<Stretch> stretches_;               // per work
  std::vector<std::vector<StepWay>> ways_;       // per work
  std::vector<std::vector<int>> own_;            // per work: its tensors
  std::vector<std::vector<int>> beside_;         // per work: others that are alive while it runs
  std::vector<int> last_;                        // per tensor: last work of the graph that reads it
  std::vector<Format> formats_;                  // planar first
  std::vector<bool> fixed_;                      // per tensor: planar
  std::vector<std::map<Digits, Front>> fronts_;  // per work, by the formats of its tensors
  std::vector<Digits> candidates_;
};

}  // namespace znni
