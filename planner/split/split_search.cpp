#include "planner/split/split_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/geometry/streams.hpp"
#include "planner/plan/throughput.hpp"
#include "planner/split/patch_segments.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

// Most halvings of the memory in which sub-layers of layers through host RAM are tried.
constexpr int max_halvings = 8;

bool has_room(const SpaceBytes& budget, const SpaceBytes& use) {
  return budget.covers(use) && add(use.host, use.pinned) <= budget.host;
}

Error over(const std::string& needs, const SpaceBytes& use, const SpaceBytes& budget) {
  return {ErrorCode::over_budget, needs + to_string(use) + "; there is " + to_string(budget)};
}

// Why no cut is taken, so far. A search has millions of reasons, of which one is told: the text of a lack of memory is
// made when it is asked for.
class Reason {
 public:
  explicit Reason(Error error) : error_(std::move(error)) {}
  Reason& operator=(Error error) {
    lack_.reset();
    error_ = std::move(error);
    return *this;
  }
  void set_lack(const char* needs, const SpaceBytes& use) {
    lack_ = {needs, use};
    blame_memory();
  }
  // Notes that there may be a cut in more memory.
  void blame_memory() { depends_on_memory_ = true; }
  [[nodiscard]] bool depends_on_memory() const { return depends_on_memory_; }
  [[nodiscard]] Error told(const SpaceBytes& budget) const {
    return lack_ ? over(lack_->needs, lack_->use, budget) : error_;
  }

 private:
  struct Lack {
    const char* needs;
    SpaceBytes use;
  };
  std::optional<Lack> lack_;
  Error error_;
  bool depends_on_memory_ = false;
};

// Returns the geometry without histories, because segments count their own.
Geometry without_histories(const Network& network, Geometry geometry) {
  geometry.histories = no_histories(network);
  return geometry;
}

}  // namespace

std::vector<int> cuts_of(const Network& network) {
  const std::vector<int> last = last_readers(network);
  std::vector<int> cuts;
  const int nodes = static_cast<int>(network.nodes.size());
  for (int first = 0; first <= nodes; ++first) {
    const auto read_later = [&](int reader) { return reader >= first; };
    if (first == nodes || std::none_of(last.begin(), last.begin() + first, read_later)) cuts.push_back(first);
  }
  return cuts;
}

// Looks at all cuts of one geometry: times those that could win and fit by bounds that need no description, and takes
// the fastest of these that fits exactly.
class SplitSearch::Look {
 public:
  Look(SplitSearch& search, const Geometry& geometry, const SpaceBytes& budget, Seconds below)
      : search_(search),
        geometry_(geometry),
        budget_(budget),
        below_(below),
        passes_(static_cast<double>(pass_count(geometry))),
        nodes_(static_cast<int>(geometry.problems.size())),
        copying_(copy_seconds(search.network_, without_histories(search.network_, geometry), search.specs_.cpu)),
        least_(geometry),
        segments_(search.network_, geometry, search.catalogue_, search.specs_),
        divided_(geometry, search.catalogue_, search.specs_.gpu, search.cpu_, search.divided_, below / passes_,
                 search.precision_, search.stop_),
        tails_(search.network_, geometry, search.specs_.gpu, search.gpu_, search.tails_, search.precision_, below,
               search.stop_) {}

  SplitAnswer run() {
    for (const int until : search_.cuts_) {
      for (const int theta : search_.cuts_) {
        if (stopped()) break;
        if (theta <= until && theta < nodes_ && allowed(theta, until)) look(theta, until);
      }
    }
    if (stopped()) {
      reason_ = {ErrorCode::cancelled, "the search was stopped"};
      reason_.blame_memory();  // it was not all looked at
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.seconds.patch() < b.seconds.patch(); });
    for (const Found& found : found_) {
      Result<SplitChoice> fits = fit(found);
      if (fits) return {std::move(fits), !reason_.depends_on_memory()};
      reason_ = fits.error();
      reason_.blame_memory();
    }
    return {reason_.told(budget_), !reason_.depends_on_memory()};
  }

 private:
  struct Found {
    Cut cut;
    std::vector<Step> host_ram;
    SplitSeconds seconds;
  };

  [[nodiscard]] bool allowed(int theta, int until) const {
    const CutLimits& limits = search_.limits_;
    return (limits.head || theta == 0) && (limits.host_ram || theta == until) && until == limits.until.value_or(until);
  }

  void look(int theta, int until) {
    // The pipeline refuses it.
    if (theta > 0 && until > theta && !all_divided(theta, until)) {
      reason_ = refused("the CPU cannot compute a head and layers of host RAM at the same time");
      return;
    }
    if (const SpaceBytes bytes = least_.on_host(theta, until); !has_room(budget_, bytes)) {
      reason_.set_lack("needs at least ", bytes);
      return;
    }
    const std::vector<TailWay>& ways = ways_that_fit(until);
    if (ways.empty()) return;
    const Seconds head = head_seconds(theta);
    if (head >= below_) return slower();
    Seconds least = history_seconds(least_.kept(theta, until), search_.specs_.cpu);
    for (int node = theta; node < until && least < below_; ++node) least += passes_ * divided_.copy_seconds(node);
    if (least >= below_) return slower();
    for (const TailWay& way : ways) look_at_way({theta, until, way}, head, least);
  }

  // Looks at a way. `least`: the least time of the layers through host RAM.
  void look_at_way(const Cut& cut, Seconds head, Seconds least) {
    const Tail* const tail = find_tail(cut.until, cut.tail);
    if (tail == nullptr) return;
    if (least + tail->seconds >= below_) return slower();
    if (cut.until < nodes_) {
      const std::int64_t bytes = tails_.min_bytes(cut.until, cut.tail, tail->bytes);
      if (bytes > budget_.device) return reason_.set_lack("needs at least ", {0, 0, bytes});
    }
    if (cut.theta == cut.until) {
      found_.push_back({cut, {}, {head, tail->seconds}});
    } else {
      add_divided(cut, head, tail->seconds);
    }
  }

  // Notes that a way is slower than another patch. If there is no other, reason_ keeps telling of a missing layer.
  void slower() {
    if (std::isfinite(below_)) reason_ = refused("slower than another patch");
  }

  Seconds head_seconds(int theta) {
    Seconds sum = copying_ + history_seconds(least_.kept(0, theta), search_.specs_.cpu);
    for (int node = 0; node < theta && sum < below_; ++node) {
      const Result<LayerWay>& step = search_.cpu_.get(problem(node));
      if (!step) {
        reason_ = step.error();
        return std::numeric_limits<double>::infinity();
      }
      sum += passes_ * step->seconds;
    }
    return sum;
  }

  [[nodiscard]] bool all_divided(int theta, int until) const {
    for (int node = theta; node < until; ++node) {
      if (!std::holds_alternative<ConvProblem>(problem(node))) return false;
    }
    return true;
  }

  // Adds a cut with its layers through host RAM in ever smaller sub-layers, as long as that makes a difference.
  void add_divided(const Cut& cut, Seconds head, Seconds tail) {
    const Seconds others = tail + history_seconds(least_.kept(cut.theta, cut.until), search_.specs_.cpu);
    const Seconds most = (below_ - others) / passes_;
    if (takes_more(cut, most)) return slower();
    const Seconds spare = most - min_sum(cut);
    if (std::isfinite(below_) && !(spare > 0)) return slower();
    reason_.blame_memory();  // sub-layers are larger, and faster, in more
    std::vector<Step> before;
    for (int halvings = 0; halvings < max_halvings && !(halvings > 0 && stopped()); ++halvings) {
      Result<std::vector<Step>> steps = host_ram_steps(cut, halvings, spare);
      if (!steps) {  // nor are there smaller or faster ones
        reason_ = steps.error();
        return;
      }
      if (*steps == before) continue;
      before = *std::move(steps);
      Seconds sum = others;
      for (const Step& step : before) sum += passes_ * step.seconds;
      if (sum >= below_) return slower();  // smaller sub-layers are not faster
      found_.push_back({cut, before, {head, sum}});
    }
  }

  // Returns whether the layers of host RAM take more than `most` for one pass, by as few of their least times as tell
  // so: it takes long to work out one. What copies take bounds the others.
  bool takes_more(const Cut& cut, Seconds most) {
    constexpr double rounding = 1 - 1e-12;  // of sums in another order
    if (!std::isfinite(most)) return false;
    std::multimap<double, int> max_operations_first;
    Seconds sum = 0;
    for (int node = cut.theta; node < cut.until; ++node) {
      max_operations_first.emplace(-direct_flops(problem(node)), node);
      sum += divided_.copy_seconds(node);
    }
    if (sum * rounding >= most) return true;
    for (const auto& [operations, node] : max_operations_first) {
      sum += divided_.min_seconds(node) - divided_.copy_seconds(node);
      if (sum * rounding >= most) return true;
    }
    return false;
  }

  // Returns the least time of one pass through the layers of host RAM.
  Seconds min_sum(const Cut& cut) {
    Seconds sum = 0;
    for (int node = cut.theta; node < cut.until; ++node) sum += divided_.min_seconds(node);
    return sum;
  }

  // Returns the steps of the layers through host RAM. `spare`: seconds of a pass that all layers together may take
  // beyond their least.
  Result<std::vector<Step>> host_ram_steps(const Cut& cut, int halvings, Seconds spare) {
    const Seconds rounding = 1e-9 * below_ / passes_;
    const SpaceBytes share{budget_.host, budget_.pinned >> halvings, budget_.device >> halvings};
    std::vector<Step> steps;
    for (int node = cut.theta; node < cut.until; ++node) {
      const Seconds most = std::isfinite(below_) ? divided_.min_seconds(node) + spare + rounding : below_;
      Result<Step> step = divided_.fastest(node, share, most);
      if (!step) return step.error();
      steps.push_back(*std::move(step));
    }
    return steps;
  }

  // Returns the tail; nullptr if it cannot run or takes too long.
  const Tail* find_tail(int until, const TailWay& way) {
    static const Tail nothing;
    if (until == nodes_) return &nothing;
    const Result<Tail>& tail = tails_.find(until, way);
    if (!tail) reason_ = tail.error();
    return tail ? &*tail : nullptr;
  }

  // Returns the ways of the segment on the GPU that could fit; an empty one if there is no such segment.
  const std::vector<TailWay>& ways_that_fit(int until) {
    const auto [known, is_new] = ways_.try_emplace(until);
    if (is_new && until == nodes_) known->second.push_back(TailWay());
    if (!is_new || until == nodes_) return known->second;
    for (const TailWay& way : tails_.ways(until)) {
      const std::int64_t bytes = tails_.min_bytes(until, way);
      if (bytes <= budget_.device) {
        known->second.push_back(way);
      } else {
        reason_.set_lack("needs at least ", {0, 0, bytes});
      }
    }
    return known->second;
  }

  Result<SplitChoice> fit(const Found& found) {
    SplitChoice choice{{}, found.seconds, {}};
    choice.rung.geometry = geometry_.choice;
    choice.rung.seconds = found.seconds.patch();
    choice.rung.segments = segments_of(found);
    const Result<SpaceBytes> bytes = segments_.pipeline_bytes_of(choice.rung.segments);
    if (!bytes) return bytes.error();
    choice.bytes = *bytes;
    if (!has_room(budget_, choice.bytes)) return over("needs ", choice.bytes, budget_);
    return choice;
  }

  std::vector<Segment> segments_of(const Found& found) {
    const auto& [theta, until, way] = found.cut;
    std::vector<Segment> segments;
    if (theta > 0) {
      Segment head{0, theta - 1, Place::cpu, {}, {}};
      for (int node = 0; node < theta; ++node) {
        head.steps.push_back(*search_.cpu_.get(problem(node)));
        head.steps.back().node = node;
      }
      segments.push_back(std::move(head));
    }
    if (until > theta) {
      segments.push_back({theta, until - 1, Place::gpu_host_ram, {}, found.host_ram});
    }
    if (until < nodes_) {
      segments.push_back({until, nodes_ - 1, Place::gpu, {way.micro_batch}, find_tail(until, way)->steps});
    }
    return segments;
  }

  [[nodiscard]] bool stopped() const { return search_.stop_ && search_.stop_(); }
  [[nodiscard]] const LayerProblem& problem(int node) const {
    return geometry_.problems[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] const Shape5& value(int number) const { return geometry_.values[static_cast<std::size_t>(number)]; }

  SplitSearch& search_;
  const Geometry& geometry_;
  const SpaceBytes& budget_;
  Seconds below_;
  double passes_;
  int nodes_;
  Seconds copying_;  // of windows and results, by the CPU
  MinBytes least_;
  PatchSegments segments_;
  DividedWays divided_;
  GpuTails tails_;
  std::map<int, std::vector<TailWay>> ways_;  // by the first node on the GPU
  std::vector<Found> found_;
  Reason reason_{refused("no cut is allowed")};
};

SplitSearch::SplitSearch(const Network& network, const Catalogue& catalogue, CostSource& costs, const PlaceSpecs& specs,
                         const CutLimits& limits, Precision precision, std::function<bool()> stop)
    : network_(network),
      catalogue_(catalogue),
      specs_(specs),
      limits_(limits),
      precision_(precision),
      cpu_(DeviceKind::cpu, specs.cpu, catalogue, costs),
      gpu_(DeviceKind::gpu, specs.gpu, catalogue, costs, precision),
      stop_(std::move(stop)),
      cuts_(cuts_of(network)),
      tails_(network) {}

Result<SplitChoice> SplitSearch::best(const Geometry& geometry, const SpaceBytes& budget, Seconds below) {
  return look(geometry, budget, below).choice;
}

SplitAnswer SplitSearch::look(const Geometry& geometry, const SpaceBytes& budget, Seconds below) {
  return Look(*this, geometry, budget, below).run();
}

}  // namespace znni
