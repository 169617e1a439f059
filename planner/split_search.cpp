#include "planner/split_search.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace znni {
namespace {

// How small a share of the memory parts of layers through host RAM are tried in.
constexpr int most_halvings = 8;

Error refused(std::string message) { return {ErrorCode::unsupported, std::move(message)}; }

bool is_planar(const Estimate& estimate) { return estimate.in == Format{} && estimate.out == Format{}; }

Step make_step(int node, const Primitive& primitive, const Estimate& estimate) {
  Step step;
  step.node = node;
  step.primitive = primitive.name;
  step.version = primitive.version;
  step.variant = estimate.variant;
  step.seconds = estimate.time;
  return step;
}

// The fastest planar way of a kind of device.
Result<Step> fastest(int node, const LayerProblem& problem, DeviceKind kind, const Catalogue& catalogue,
                     const DeviceSpec& spec) {
  std::optional<Step> best;
  for (const Primitive* primitive : catalogue.primitives()) {
    if (primitive->device != kind) continue;
    const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
    if (!estimates) continue;
    for (const Estimate& estimate : *estimates) {
      if (!is_planar(estimate) || (best && best->seconds <= estimate.time)) continue;
      best = make_step(node, *primitive, estimate);
    }
  }
  if (best) return *std::move(best);
  return refused("no primitive computes " + to_string(problem) + " from planar to planar");
}

// A primitive of the GPU with its good divisions of one convolution.
struct DividedWay {
  const Primitive* primitive = nullptr;
  std::vector<DividedOption> good;
};

Result<std::vector<DividedWay>> divided_ways(const ConvProblem& conv, const Catalogue& catalogue,
                                             const DeviceSpec& gpu) {
  std::vector<DividedWay> ways;
  Error reason = refused("no primitive of the GPU computes " + to_string(LayerProblem(conv)));
  for (const Primitive* primitive : catalogue.primitives()) {
    if (primitive->device != DeviceKind::gpu) continue;
    const Result<std::vector<Estimate>> estimates = primitive->describe(conv, gpu);
    if (!estimates) continue;
    for (const Estimate& estimate : *estimates) {
      if (!is_planar(estimate)) continue;
      Result<std::vector<DividedOption>> good =
          good_divisions(conv, {primitive, estimate.variant, {}, {}, {}, true}, gpu);
      if (!good) {
        reason = good.error();
      } else {
        ways.push_back({primitive, *std::move(good)});
      }
    }
  }
  return ways.empty() ? Result<std::vector<DividedWay>>(std::move(reason)) : std::move(ways);
}

// The fastest division that fits.
Result<Step> fastest_divided(int node, const ConvProblem& conv, const Result<std::vector<DividedWay>>& ways,
                             const SpaceBytes& budget) {
  if (!ways) return ways.error();
  std::optional<Step> best;
  Error reason{ErrorCode::over_budget, ""};
  for (const DividedWay& way : *ways) {
    const Result<DividedOption> option = best_division(conv, way.good, budget);
    if (!option) {
      reason = option.error();
      continue;
    }
    if (best && best->seconds <= option->estimate.time) continue;
    best = make_step(node, *way.primitive, option->estimate);
    best->division = {option->division};
  }
  return best ? Result<Step>(*std::move(best)) : Result<Step>(std::move(reason));
}

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

// The fastest step of every node on every place; an error where there is none.
struct NodeSteps {
  std::vector<Result<Step>> cpu;
  std::vector<Result<Step>> host_ram;
  std::vector<Result<Step>> gpu;

  [[nodiscard]] const std::vector<Result<Step>>& on(Place place) const {
    return place == Place::cpu ? cpu : place == Place::gpu ? gpu : host_ram;
  }
};

NodeSteps steps_of(const Geometry& geometry, const Catalogue& catalogue, const PlaceSpecs& specs) {
  NodeSteps steps;
  for (int node = 0; node < static_cast<int>(geometry.problems.size()); ++node) {
    const LayerProblem& problem = geometry.problems[static_cast<std::size_t>(node)];
    steps.cpu.push_back(fastest(node, problem, DeviceKind::cpu, catalogue, specs.cpu));
    steps.gpu.push_back(fastest(node, problem, DeviceKind::gpu, catalogue, specs.gpu));
  }
  return steps;
}

// Steps through host RAM whose parts take a half, a quarter, ... of the memory: the tail needs some of it, too.
class HostRamSteps {
 public:
  HostRamSteps(const Geometry& geometry, const Catalogue& catalogue, const DeviceSpec& gpu) : geometry_(geometry) {
    for (const LayerProblem& problem : geometry.problems) {
      const auto* conv = std::get_if<ConvProblem>(&problem);
      if (conv == nullptr) {
        ways_.emplace_back(std::vector<DividedWay>());
      } else {
        ways_.push_back(divided_ways(*conv, catalogue, gpu));
      }
    }
  }
  void fill(NodeSteps& steps, const SpaceBytes& budget) const {
    steps.host_ram = steps.cpu;
    for (std::size_t node = 0; node < ways_.size(); ++node) {
      const auto* conv = std::get_if<ConvProblem>(&geometry_.problems[node]);
      if (conv != nullptr) steps.host_ram[node] = fastest_divided(static_cast<int>(node), *conv, ways_[node], budget);
    }
  }

 private:
  const Geometry& geometry_;
  std::vector<Result<std::vector<DividedWay>>> ways_;
};

Result<Segment> segment_of(int first, int last, Place place, std::int64_t group, const NodeSteps& steps) {
  Segment segment{first, last, place, {group}, {}};
  for (int node = first; node <= last; ++node) {
    const Result<Step>& step = steps.on(place)[static_cast<std::size_t>(node)];
    if (!step) return step.error();
    segment.steps.push_back(*step);
  }
  return segment;
}

struct Cut {
  int theta = 0;  // nodes on the CPU
  int until = 0;  // and through host RAM
  std::int64_t group = 0;
};

Result<Rung> rung_of(const Network& network, const GeometryChoice& choice, const Cut& cut, const NodeSteps& steps) {
  const int nodes = static_cast<int>(network.nodes.size());
  Rung rung;
  rung.geometry = choice;
  const std::array<std::pair<int, Place>, 3> ends = {
      std::pair{cut.theta, Place::cpu}, std::pair{cut.until, Place::gpu_host_ram}, std::pair{nodes, Place::gpu}};
  int first = 0;
  for (const auto& [end, place] : ends) {
    if (end == first) continue;
    Result<Segment> segment = segment_of(first, end - 1, place, place == Place::gpu ? cut.group : 0, steps);
    if (!segment) return segment.error();
    rung.segments.push_back(*std::move(segment));
    first = end;
  }
  return rung;
}

// Divisors of S, from S down, each about a half of the one before it.
std::vector<std::int64_t> groups_of(std::int64_t S) {
  std::vector<std::int64_t> groups = {S};
  for (std::int64_t group = S / 2; group >= 1; --group) {
    if (S % group == 0 && (2 * group <= groups.back() || group == 1)) groups.push_back(group);
  }
  return groups;
}

std::vector<Cut> all_cuts(const Network& network, const Geometry& geometry) {
  const std::vector<int> at = cuts_of(network);
  const int nodes = static_cast<int>(network.nodes.size());
  std::vector<Cut> cuts;
  for (const int until : at) {
    for (const int theta : at) {
      if (theta > until || theta == nodes) continue;
      const std::int64_t S = geometry.values[static_cast<std::size_t>(until)].S;
      for (const std::int64_t group : until == nodes ? std::vector<std::int64_t>{0} : groups_of(S)) {
        cuts.push_back({theta, until, group});
      }
    }
  }
  return cuts;
}

// Of one group of a streamed segment: what is kept is read and written, before the new planes and behind them.
Seconds history_seconds(const SegmentDesign& segment, const DeviceSpec& spec) {
  constexpr double passes_over_memory = 4;
  const auto bytes = static_cast<double>(history_bytes(segment.schedule));
  return passes_over_memory * bytes / static_cast<double>(segment.geometry.windows) / spec.bytes_per_second;
}

// A segment on the GPU: its groups overlap with their copies.
Seconds tail_seconds(const SegmentDesign& tail, const DeviceSpec& gpu) {
  const AcceleratorSpec& link = gpu.accelerator;
  Seconds compute = history_seconds(tail, gpu);
  for (const Call& call : tail.schedule.calls) compute += call.estimate.time;
  const auto out = static_cast<double>(tensor_bytes(tail.group_output(), {}));
  const Seconds up = link.up.seconds(static_cast<double>(tensor_bytes(tail.group_input(), {})));
  const Seconds down =
      static_cast<double>(tail.group_output().S) * link.down.seconds_per_copy + out / link.down.bytes_per_second;
  return static_cast<double>(tail.groups()) * std::max({compute, up, down}) + compute + up + down -
         std::max({compute, up, down});
}

// The head's computing while the host-RAM layers need the CPU is refused by the pipeline, too.
bool shares_the_cpu(const Rung& rung) {
  return rung.segments.size() > 1 && rung.segments[0].place == Place::cpu &&
         rung.segments[1].place == Place::gpu_host_ram &&
         std::any_of(rung.segments[1].steps.begin(), rung.segments[1].steps.end(),
                     [](const Step& step) { return step.division.empty(); });
}

Result<SplitChoice> weigh(const Network& network, Rung rung, const Catalogue& catalogue, const PlaceSpecs& specs,
                          const SpaceBytes& budget) {
  if (shares_the_cpu(rung)) return refused("the CPU cannot compute a head and layers of host RAM at the same time");
  const Result<RungSegments> parts = take_apart(network, rung, catalogue, specs);
  if (!parts) return parts.error();
  SplitChoice weighed{std::move(rung), split_seconds(*parts, specs), pipeline_bytes(*parts)};
  if (!budget.covers(weighed.bytes)) {
    return Error{ErrorCode::over_budget, "needs " + to_string(weighed.bytes) + "; there is " + to_string(budget)};
  }
  weighed.rung.seconds = weighed.seconds.patch();
  return weighed;
}

std::int64_t planar_bytes(const Shape5& shape) { return round_up(tensor_bytes(shape, {}), buffer_alignment); }

// Every space in which a segment's buffers are counted.
SpaceBytes segment_bytes(const SegmentDesign& segment) {
  const MemoryPlan& memory = segment.schedule.memory;
  SpaceBytes use;
  for (const auto& [space, bytes] : {std::pair{MemorySpace::host, &use.host},
                                     {MemorySpace::pinned, &use.pinned},
                                     {MemorySpace::device, &use.device}}) {
    *bytes = pack(memory, space).bytes;
    for (const Buffer& buffer : memory) {
      if (buffer.lifetime.persistent && buffer.space == space) *bytes = add(*bytes, round_up(buffer.bytes, 64));
    }
  }
  if (segment.place == Place::gpu) {
    use.device = add(use.device, mul(2, planar_bytes(segment.group_tensor())));
    use.device = add(use.device, mul(2, planar_bytes(segment.group_output())));
  } else if (!writes_in_place(segment)) {
    use.host = add(use.host, planar_bytes(segment.group_output()));
  }
  return use;
}

}  // namespace

SpaceBytes pipeline_bytes(const RungSegments& parts) {
  SpaceBytes use;
  for (const SegmentDesign& segment : parts.segments) use = use.plus(segment_bytes(segment));
  const SegmentDesign& first = parts.segments.front();
  const SegmentDesign& last = parts.segments.back();
  const bool has_head = first.place == Place::cpu;
  if (has_head) use.host = add(use.host, planar_bytes(first.whole_tensor()));
  const SegmentDesign& behind = has_head && parts.segments.size() > 1 ? parts.segments[1] : first;
  const bool copied = behind.place == Place::gpu;
  std::int64_t& between = copied ? use.pinned : use.host;
  between = add(between, mul(2, planar_bytes(copied ? behind.whole_input() : behind.whole_tensor())));
  if (last.place == Place::gpu && behind.place == Place::gpu_host_ram) {
    use.pinned = add(use.pinned, planar_bytes(last.whole_input()));
  }
  std::int64_t& output = last.place == Place::gpu ? use.pinned : use.host;
  output = add(output, planar_bytes(parts.geometry.values.back()));
  return use;
}

SplitSeconds split_seconds(const RungSegments& parts, const PlaceSpecs& specs) {
  SplitSeconds seconds;
  for (const SegmentDesign& segment : parts.segments) {
    if (segment.place == Place::gpu) {
      seconds.gpu += tail_seconds(segment, specs.gpu);
      continue;
    }
    Seconds all = history_seconds(segment, specs.cpu);
    for (const Call& call : segment.schedule.calls) all += call.estimate.time;
    (segment.place == Place::cpu ? seconds.cpu : seconds.gpu) += static_cast<double>(segment.groups()) * all;
  }
  const auto passes = static_cast<double>(parts.geometry.passes.size());
  return {seconds.cpu * passes, seconds.gpu * passes};
}

Result<SplitChoice> choose_split(const Network& network, const GeometryChoice& choice, const Catalogue& catalogue,
                                 const PlaceSpecs& specs, const SpaceBytes& budget, const CutLimits& limits) {
  const Result<Geometry> geometry = make_geometry(network, choice);
  if (!geometry) return geometry.error();
  NodeSteps steps = steps_of(*geometry, catalogue, specs);
  const HostRamSteps host_ram(*geometry, catalogue, specs.gpu);
  std::optional<SplitChoice> best;
  Error reason = refused("the net has no nodes");
  const auto weigh_cut = [&](const Cut& cut) {
    Result<Rung> rung = rung_of(network, choice, cut, steps);
    Result<SplitChoice> weighed = rung ? weigh(network, *std::move(rung), catalogue, specs, budget) : rung.error();
    if (!weighed) {
      reason = weighed.error();
    } else if (!best || weighed->seconds.patch() < best->seconds.patch()) {
      best = *std::move(weighed);
    }
  };
  std::vector<Cut> cuts = all_cuts(network, *geometry);
  std::erase_if(cuts, [&](const Cut& cut) {
    return (!limits.head && cut.theta > 0) || (!limits.host_ram && cut.until > cut.theta);
  });
  for (int halvings = 0; halvings < most_halvings; ++halvings) {
    const SpaceBytes share{budget.host, budget.pinned >> halvings, budget.device >> halvings};
    host_ram.fill(steps, share);
    for (const Cut& cut : cuts) {
      if (halvings == 0 || cut.theta < cut.until) weigh_cut(cut);
    }
  }
  return best ? Result<SplitChoice>(*std::move(best)) : Result<SplitChoice>(std::move(reason));
}

}  // namespace znni
