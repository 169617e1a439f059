#include "planner/train/recompute.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "primitives/core/index.hpp"

namespace znni {
namespace {

constexpr std::size_t all_sets_up_to = 4;  // tensors
constexpr std::size_t max_sets = 12;

std::size_t loss_of(const StepGraph& graph) {
  const auto is_loss = [](const StepWork& work) { return work.node < 0; };
  return static_cast<std::size_t>(std::find_if(graph.works.begin(), graph.works.end(), is_loss) - graph.works.begin());
}

// Rewrites the backward works of a graph.
class Recomputing {
 public:
  Recomputing(const StepGraph& graph, const std::set<int>& tensors)
      : tensors_(tensors), made_(graph), again_(graph.tensors.size(), -1), writers_(graph.tensors.size(), -1) {
    made_.works.clear();
  }

  StepGraph run(const StepGraph& graph) && {
    const std::size_t loss = loss_of(graph);
    for (std::size_t i = 0; i < graph.works.size(); ++i) {
      StepWork work = graph.works[i];
      if (i > loss) {
        for (int& read : work.reads) read = kept_or_again(graph, read);
      } else if (work.writes >= 0) {
        writers_[index(work.writes)] = static_cast<int>(i);
      }
      made_.works.push_back(std::move(work));
    }
    return std::move(made_);
  }

 private:
  // Returns the tensor to read in the backward run, which is computed first if it must be.
  int kept_or_again(const StepGraph& graph, int tensor) {
    if (!tensors_.contains(tensor)) return tensor;
    int& again = again_[index(tensor)];
    if (again >= 0) return again;
    StepWork work = graph.works[index(writers_[index(tensor)])];
    for (int& read : work.reads) read = kept_or_again(graph, read);
    const StepTensor& own = graph.tensors[index(tensor)];
    made_.tensors.push_back({own.name + " again", own.shape});
    work.writes = static_cast<int>(made_.tensors.size()) - 1;
    work.is_recomputed = true;
    made_.works.push_back(std::move(work));
    return again_[index(tensor)] = made_.works.back().writes;
  }

  const std::set<int>& tensors_;
  StepGraph made_;
  std::vector<int> again_;    // per tensor: its copy; -1: none yet
  std::vector<int> writers_;  // per tensor: the forward work that writes it
};

// What a step takes, as if its tensors were planar and works had no scratch.
struct Outlay {
  std::int64_t peak = 0;
  double area = 0;  // bytes alive, summed over works
};

Outlay outlay_of(const StepGraph& graph) {
  const std::size_t works = graph.works.size();
  std::vector<std::size_t> first(graph.tensors.size(), 0);
  std::vector<std::size_t> last(graph.tensors.size(), 0);
  for (std::size_t i = 0; i < works; ++i) {
    for (const int tensor : graph.works[i].reads) last[index(tensor)] = i;
    if (graph.works[i].writes >= 0) first[index(graph.works[i].writes)] = last[index(graph.works[i].writes)] = i;
  }
  std::vector<std::int64_t> changes(works + 1, 0);
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const std::int64_t bytes = tensor_bytes(graph.tensors[t].shape, Format{});
    changes[first[t]] += bytes;
    changes[last[t] + 1] -= bytes;
  }
  Outlay outlay;
  std::int64_t alive = 0;
  for (std::size_t i = 0; i < works; ++i) {
    alive += changes[i];
    outlay.peak = std::max(outlay.peak, alive);
    outlay.area += static_cast<double>(alive);
  }
  return outlay;
}

// Returns the seconds of the works that compute tensors again.
Seconds seconds_again(const StepGraph& graph, const StepGraph& recomputed, std::span<const Seconds> seconds) {
  Seconds sum = 0;
  for (const StepWork& work : recomputed.works) {
    if (!work.is_recomputed) continue;
    const auto same = [&](const StepWork& other) { return other.node == work.node && other.problem == work.problem; };
    const auto found = std::find_if(graph.works.begin(), graph.works.end(), same);
    sum += seconds[static_cast<std::size_t>(found - graph.works.begin())];
  }
  return sum;
}

// Returns what a set gains for a second, over a smaller one; not above 0 if it lowers neither the peak nor, at the same
// peak, the bytes alive.
double gain_of(const Outlay& before, const Outlay& after, Seconds more) {
  if (after.peak > before.peak) return 0;
  const double bytes = static_cast<double>(before.peak - after.peak) + 1e-6 * (before.area - after.area);
  return bytes / std::max(more, 1e-9);
}

// Returns the set with the tensor that gains most; the set itself if none gains.
std::set<int> with_best(const StepGraph& graph, const std::set<int>& set, const std::vector<int>& tensors,
                        std::span<const Seconds> seconds) {
  const StepGraph own = with_recomputed(graph, set);
  const Outlay before = outlay_of(own);
  const Seconds taken = seconds_again(graph, own, seconds);
  std::set<int> best = set;
  double most = 0;
  for (const int tensor : tensors) {
    std::set<int> larger = set;
    if (!larger.insert(tensor).second) continue;
    const StepGraph next = with_recomputed(graph, larger);
    const double gain = gain_of(before, outlay_of(next), seconds_again(graph, next, seconds) - taken);
    if (gain <= most) continue;
    most = gain;
    best = std::move(larger);
  }
  return best;
}

std::vector<std::set<int>> all_sets(const std::vector<int>& tensors) {
  std::vector<std::set<int>> sets;
  for (std::size_t bits = 1; bits < (std::size_t{1} << tensors.size()); ++bits) {
    std::set<int>& set = sets.emplace_back();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if ((bits >> i & 1) != 0) set.insert(tensors[i]);
    }
  }
  return sets;
}

}  // namespace

std::vector<int> recomputable(const StepGraph& graph) {
  const std::size_t loss = loss_of(graph);
  std::set<int> written;
  std::set<int> found;
  for (std::size_t i = 0; i < graph.works.size(); ++i) {
    const StepWork& work = graph.works[i];
    if (i < loss && work.writes != graph.output) written.insert(work.writes);
    for (const int tensor : work.reads) {
      if (i > loss && written.contains(tensor)) found.insert(tensor);
    }
  }
  return {found.begin(), found.end()};
}

StepGraph with_recomputed(const StepGraph& graph, const std::set<int>& tensors) {
  return Recomputing(graph, tensors).run(graph);
}

std::vector<std::set<int>> sets_to_recompute(const StepGraph& graph, std::span<const Seconds> seconds) {
  const std::vector<int> tensors = recomputable(graph);
  if (tensors.size() <= all_sets_up_to) return all_sets(tensors);
  std::vector<std::set<int>> sets;
  std::set<int> set;
  while (sets.size() < max_sets) {
    std::set<int> larger = with_best(graph, set, tensors, seconds);
    if (larger == set) break;
    set = std::move(larger);
    sets.push_back(set);
  }
  return sets;
}

}  // namespace znni
