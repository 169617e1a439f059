#include "planner/split_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "planner/divided_ways.hpp"
#include "planner/pairs.hpp"
#include "planner/schedule.hpp"
#include "planner/streams.hpp"
#include "planner/throughput.hpp"

namespace znni {
namespace {

// How small a share of the memory parts of layers through host RAM are tried in.
constexpr int most_halvings = 8;

Error refused(std::string message) { return {ErrorCode::unsupported, std::move(message)}; }

// Nodes before which one value alone is alive, both ends among them.
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

// Divisors of S, from S down, each about a half of the one before it.
std::vector<std::int64_t> groups_of(std::int64_t S) {
  std::vector<std::int64_t> groups = {S};
  for (std::int64_t group = S / 2; group >= 1; --group) {
    if (S % group == 0 && (2 * group <= groups.back() || group == 1)) groups.push_back(group);
  }
  return groups;
}

bool covers(const SpaceBytes& budget, const SpaceBytes& use) {
  return budget.covers(use) && add(use.host, use.pinned) <= budget.host;
}

Error over(const std::string& needs, const SpaceBytes& use, const SpaceBytes& budget) {
  return {ErrorCode::over_budget, needs + to_string(use) + "; there is " + to_string(budget)};
}

// What is kept between the steps of a stream is read and written before the new planes, and behind them: four passes.
Seconds history_seconds(std::int64_t bytes, const DeviceSpec& spec) {
  return 4.0 * static_cast<double>(bytes) / spec.bytes_per_second;
}

// Segments count their own.
Geometry without_histories(const Network& network, Geometry geometry) {
  geometry.histories = no_histories(network);
  return geometry;
}

// A segment on the GPU: its groups overlap with their copies.
Seconds tail_seconds(Seconds compute, std::int64_t groups, const Shape5& in, const Shape5& out,
                     const AcceleratorSpec& link) {
  const Seconds up = link.up.seconds(static_cast<double>(tensor_bytes(in, {})));
  const Seconds down = static_cast<double>(out.S) * link.down.seconds_per_copy +
                       static_cast<double>(tensor_bytes(out, {})) / link.down.bytes_per_second;
  const Seconds longest = std::max({compute, up, down});
  return static_cast<double>(groups) * longest + compute + up + down - longest;
}

}  // namespace

// All cuts of one geometry: those that could win and fit, by what bounds without describing say, are timed; of these
// the fastest that fits exactly.
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
        divided_(geometry, search.catalogue_, search.specs_.gpu, search.cpu_, below / passes_) {}

  Result<SplitChoice> run() {
    for (const int until : search_.cuts_) {
      for (const int theta : search_.cuts_) {
        if (theta <= until && theta < nodes_ && allowed(theta, until)) look(theta, until);
      }
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.seconds.patch() < b.seconds.patch(); });
    for (const Found& found : found_) {
      Result<SplitChoice> fits = fit(found);
      if (fits) return fits;
      reason_ = fits.error();
    }
    return reason_;
  }

 private:
  struct Tail {
    Seconds seconds = 0;  // of all passes
    std::vector<Step> steps;
  };
  struct Found {
    Cut cut;
    int halvings = 0;
    SplitSeconds seconds;
  };

  [[nodiscard]] bool allowed(int theta, int until) const {
    return (search_.limits_.head || theta == 0) && (search_.limits_.host_ram || theta == until);
  }

  void look(int theta, int until) {
    // The pipeline refuses it.
    if (theta > 0 && until > theta && !all_divided(theta, until)) {
      reason_ = refused("the CPU cannot compute a head and layers of host RAM at the same time");
      return;
    }
    if (const SpaceBytes bytes = least_.on_host(theta, until); !covers(budget_, bytes)) {
      reason_ = over("needs at least ", bytes, budget_);
      return;
    }
    const std::vector<TailWay>& ways = ways_that_fit(until);
    if (ways.empty()) return;
    const Seconds head = head_seconds(theta);
    if (head >= below_) return slower();
    Seconds least = history_seconds(least_.kept(theta, until), search_.specs_.cpu);
    for (int node = theta; node < until && least < below_; ++node) least += passes_ * divided_.least_seconds(node);
    if (least >= below_) return slower();
    for (const TailWay& way : ways) look_at_way({theta, until, way}, head, least);
  }

  // `least`: of the layers through host RAM.
  void look_at_way(const Cut& cut, Seconds head, Seconds least) {
    const Tail* const tail = find_tail(cut.until, cut.tail);
    if (tail == nullptr) return;
    if (least + tail->seconds >= below_) return slower();
    if (cut.theta == cut.until) {
      found_.push_back({cut, 0, {head, tail->seconds}});
    } else {
      add_divided(cut, head, tail->seconds);
    }
  }

  // Without another patch a layer is missing, which reason_ tells of.
  void slower() {
    if (std::isfinite(below_)) reason_ = refused("slower than another patch");
  }

  Seconds head_seconds(int theta) {
    Seconds sum = copying_ + history_seconds(least_.kept(0, theta), search_.specs_.cpu);
    for (int node = 0; node < theta && sum < below_; ++node) {
      const Result<Step>& step = search_.cpu_.get(problem(node));
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

  // The same layers through host RAM in ever smaller parts, as long as that makes a difference.
  void add_divided(const Cut& cut, Seconds head, Seconds tail) {
    std::vector<Step> before;
    const Seconds kept = history_seconds(least_.kept(cut.theta, cut.until), search_.specs_.cpu);
    for (int halvings = 0; halvings < most_halvings; ++halvings) {
      Result<std::vector<Step>> steps = host_ram_steps(cut, halvings);
      if (!steps) {
        reason_ = steps.error();
        continue;
      }
      if (*steps == before) continue;
      before = *std::move(steps);
      Seconds sum = tail + kept;
      for (const Step& step : before) sum += passes_ * step.seconds;
      if (sum >= below_) return slower();  // smaller parts are not faster
      found_.push_back({cut, halvings, {head, sum}});
    }
  }

  Result<std::vector<Step>> host_ram_steps(const Cut& cut, int halvings) {
    const SpaceBytes share{budget_.host, budget_.pinned >> halvings, budget_.device >> halvings};
    std::vector<Step> steps;
    for (int node = cut.theta; node < cut.until; ++node) {
      Result<Step> step = divided_.fastest(node, share);
      if (!step) return step.error();
      steps.push_back(*std::move(step));
    }
    return steps;
  }

  // nullptr where it cannot run or takes too long.
  const Tail* find_tail(int until, const TailWay& way) {
    static const Tail nothing;
    if (until == nodes_) return &nothing;
    const auto known = tails_.find({until, way});
    if (known != tails_.end()) return known->second ? &*known->second : nullptr;
    const std::optional<Tail>& tail = tails_.emplace(std::pair(until, way), make_tail(until, way)).first->second;
    return tail ? &*tail : nullptr;
  }

  const Network& tail_network(int until) {
    const auto known = search_.tails_.find(until);
    if (known != search_.tails_.end()) return known->second;
    return search_.tails_.emplace(until, part_of(search_.network_, until, nodes_ - 1)).first->second;
  }

  std::optional<Tail> make_tail(int until, const TailWay& way) {
    const Network& network = tail_network(until);
    GeometryChoice choice{value(until).n, way.group, modes_of(search_.network_, geometry_.choice, until, nodes_ - 1)};
    choice.streamed = geometry_.choice.streamed;
    choice.axis = geometry_.choice.axis;
    const Result<Geometry> part = make_part_geometry(network, choice);
    if (!part) {
      reason_ = part.error();
      return std::nullopt;
    }
    const std::int64_t groups = value(until).S / way.group;
    const AcceleratorSpec& link = search_.specs_.gpu.accelerator;
    const std::int64_t kept = (way.in_pairs ? in_pairs(until) : least_).kept(until, nodes_);
    Seconds compute = history_seconds(kept, search_.specs_.gpu) / static_cast<double>(groups) / passes_;
    Tail tail;
    tail.steps.resize(part->problems.size());
    for (const int node : most_operations_first(*part)) {
      if (way.in_pairs && node > 0 && is_pair(until + node - 1)) continue;  // with the node before it
      const Result<Seconds> seconds = add_steps(network, *part, until, node, way.in_pairs, tail.steps);
      if (!seconds) {
        reason_ = seconds.error();
        return std::nullopt;
      }
      compute += *seconds;
      tail.seconds = passes_ * tail_seconds(compute, groups, part->values.front(), part->values.back(), link);
      if (tail.seconds < below_) continue;
      slower();
      return std::nullopt;
    }
    return tail;
  }

  // The step of node `node` of the part that begins with node `until`, or the two of its pair.
  Result<Seconds> add_steps(const Network& network, const Geometry& part, int until, int node, bool in_pairs,
                            std::vector<Step>& steps) {
    const auto number = static_cast<std::size_t>(node);
    const bool pair = in_pairs && is_pair(until + node);
    const LayerProblem problem = pair ? LayerProblem(pair_problem(network, part, node).value())
                                      : problem_on(DeviceKind::gpu, network, part, node);
    const Result<Step>& step = search_.gpu_.get(problem);
    if (!step) return step.error();
    steps[number] = *step;
    steps[number].node = until + node;
    if (pair) {
      const std::array<Step, 2> both = pair_steps(steps[number]);
      std::copy(both.begin(), both.end(), steps.begin() + node);
    }
    return step->seconds;
  }

  // Whether a primitive of the GPU computes the node and the one behind it at once.
  [[nodiscard]] bool is_pair(int node) const { return absent_[static_cast<std::size_t>(node) + 1]; }

  // The values that pairs leave out.
  void find_pairs() {
    absent_.assign(geometry_.values.size(), false);
    for (int node = 0; node < nodes_; ++node) {
      const Result<ConvPoolProblem> both = pair_problem(search_.network_, geometry_, node);
      absent_[static_cast<std::size_t>(node) + 1] = both && search_.gpu_.get(*both);
    }
  }

  // With all pairs among the nodes from `until` on.
  const LeastBytes& in_pairs(int until) {
    std::vector<bool> absent = absent_;
    std::fill_n(absent.begin(), until + 1, false);
    return in_pairs_.try_emplace(until, with_pairs(search_.network_, geometry_, absent)).first->second;
  }

  // So that what takes too long shows soon.
  static std::vector<int> most_operations_first(const Geometry& part) {
    std::vector<std::pair<double, int>> order;
    for (const LayerProblem& problem : part.problems) {
      order.emplace_back(-direct_flops(problem), static_cast<int>(order.size()));
    }
    std::sort(order.begin(), order.end());
    std::vector<int> nodes;
    for (const auto& [operations, node] : order) nodes.push_back(node);
    return nodes;
  }

  // Of the segment on the GPU, those that could fit; one that says nothing where there is no such segment.
  const std::vector<TailWay>& ways_that_fit(int until) {
    const auto [known, is_new] = ways_.try_emplace(until);
    if (is_new && until == nodes_) known->second.push_back(TailWay());
    if (!is_new || until == nodes_) return known->second;
    if (absent_.empty()) find_pairs();
    const bool pairs = std::find(absent_.begin() + until + 1, absent_.end(), true) != absent_.end();
    for (const std::int64_t group : groups_of(value(until).S)) {
      add_if_fit({group, false}, least_.on_device(until, group), known->second);
      if (pairs) add_if_fit({group, true}, in_pairs(until).on_device(until, group, absent_), known->second);
    }
    return known->second;
  }
  void add_if_fit(const TailWay& way, std::int64_t bytes, std::vector<TailWay>& ways) {
    if (bytes <= budget_.device) {
      ways.push_back(way);
    } else {
      reason_ = over("needs at least ", {0, 0, bytes}, budget_);
    }
  }

  Result<SplitChoice> fit(const Found& found) {
    SplitChoice choice{{}, found.seconds, {}};
    choice.rung.geometry = geometry_.choice;
    choice.rung.seconds = found.seconds.patch();
    Result<std::vector<Segment>> segments = segments_of(found);
    if (!segments) return segments.error();
    choice.rung.segments = *std::move(segments);
    const Result<RungSegments> parts = take_apart(search_.network_, choice.rung, search_.catalogue_, search_.specs_);
    if (!parts) return parts.error();
    choice.bytes = pipeline_bytes(*parts);
    if (!covers(budget_, choice.bytes)) return over("needs ", choice.bytes, budget_);
    return choice;
  }

  Result<std::vector<Segment>> segments_of(const Found& found) {
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
      Result<std::vector<Step>> steps = host_ram_steps(found.cut, found.halvings);
      if (!steps) return steps.error();
      segments.push_back({theta, until - 1, Place::gpu_host_ram, {}, *std::move(steps)});
    }
    if (until < nodes_) {
      segments.push_back({until, nodes_ - 1, Place::gpu, {way.group}, find_tail(until, way)->steps});
    }
    return segments;
  }

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
  LeastBytes least_;
  DividedWays divided_;
  std::vector<bool> absent_;                                      // per value: pairs leave it out; empty until asked
  std::map<int, LeastBytes> in_pairs_;                            // by the first node on the GPU
  std::map<int, std::vector<TailWay>> ways_;                      // by the first node on the GPU
  std::map<std::pair<int, TailWay>, std::optional<Tail>> tails_;  // by that and its way
  std::vector<Found> found_;
  Error reason_ = refused("the net has no nodes");
};

SplitSearch::SplitSearch(const Network& network, const Catalogue& catalogue, CostSource& costs, const PlaceSpecs& specs,
                         const CutLimits& limits)
    : network_(network),
      catalogue_(catalogue),
      specs_(specs),
      limits_(limits),
      cpu_(DeviceKind::cpu, specs.cpu, catalogue, costs),
      gpu_(DeviceKind::gpu, specs.gpu, catalogue, costs),
      cuts_(cuts_of(network)) {}

Result<SplitChoice> SplitSearch::best(const Geometry& geometry, const SpaceBytes& budget, Seconds below) {
  return Look(*this, geometry, budget, below).run();
}

}  // namespace znni
