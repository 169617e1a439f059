#include "tests/planner/brute_force.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "planner/layers/schedule.hpp"
#include "planner/network/swap_axes.hpp"
#include "planner/plan/pairs.hpp"
#include "planner/plan/throughput.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni::test {

DeviceSpec drawn_device() {
  DeviceSpec spec;
  spec.name = "fake device";
  return spec;
}

BruteForce::BruteForce(const Network& network, const SearchOptions& options)
    : network_(network), options_(options), catalogue_(drawn::catalogue()), spec_(drawn_device()) {
  std::vector<PoolingMode> modes(pooling_nodes(network_).size());
  for (axis_ = 0; axis_ < 3; ++axis_) {
    const std::vector<PoolingMode> pinned = swap_axes(options_.pins, axis_).modes;
    if (pinned.empty()) {
      try_modes(0, modes);
    } else {
      try_batches(pinned);
    }
  }
}

double BruteForce::best_within(std::int64_t memory_limit) const {
  double best = 0;
  for (const auto& [bytes, rate] : best_) {
    if (bytes <= memory_limit) best = std::max(best, rate);
  }
  return best;
}

// Tries all modes of a pooling. Groups divide the stride along z, then y, then x; they do not go with plain poolings.
// Only the first pooling may recompute, for streams the second too, along y and x alone.
void BruteForce::try_modes(std::size_t pooling, std::vector<PoolingMode>& modes) {
  if (pooling == modes.size()) {
    const bool naive =
        std::all_of(modes.begin(), modes.end(), [](const PoolingMode& mode) { return mode == PoolMode::plain; });
    if (options_.strategy == Strategy::baseline && !naive) return;
    try_batches(modes);
    return;
  }
  for (const PoolingMode& mode : modes_of(pooling)) {
    modes[pooling] = mode;
    const auto is_plain = [](const PoolingMode& m) { return m == PoolMode::plain; };
    const auto in_groups = [](const PoolingMode& m) { return m.groups != Vec3::cube(1); };
    const auto end = modes.begin() + static_cast<std::ptrdiff_t>(pooling) + 1;
    if (std::any_of(modes.begin(), end, is_plain) && std::any_of(modes.begin(), end, in_groups)) continue;
    try_modes(pooling + 1, modes);
  }
}

void BruteForce::try_batches(const std::vector<PoolingMode>& modes) {
  if (options_.pins.S) return try_extents(modes, *options_.pins.S);
  for (std::int64_t S = 1; S <= options_.max_S; S *= 2) try_extents(modes, S);
}

std::vector<PoolingMode> BruteForce::modes_of(std::size_t pooling) const {
  std::vector<PoolingMode> all = {PoolMode::fragments, PoolMode::plain};
  const Vec3 stride = stride_of(pooling);
  for (std::int64_t i = 0; i < voxels(stride); ++i) {
    const Vec3 groups = fragment_at(i, stride) + Vec3::cube(1);
    const bool divides = stride % groups == Vec3{};
    const bool y_first = groups.z == 1 && (groups.x == 1 || groups.y == stride.y);
    const bool recompute_elsewhere = pooling == 0 && stride.z == 1 && groups != stride;
    if (pooling < 2 && divides && y_first && groups != Vec3::cube(1) && !recompute_elsewhere) {
      all.emplace_back(groups, false);
    }
    const bool z_first = (groups.y == 1 || groups.z == stride.z) && (groups.x == 1 || groups.y == stride.y);
    if (!divides || !z_first || (groups.x > 1 && groups.z != stride.z) || groups == Vec3::cube(1)) continue;
    all.emplace_back(groups, true);
    if (pooling == 0 && groups != stride) all.emplace_back(groups, false);  // recompute for all of them: that is plain
  }
  return all;
}

void BruteForce::try_extents(const std::vector<PoolingMode>& modes, std::int64_t S) {
  for (std::int64_t z = 1; z <= options_.max_extent; ++z) {
    for (std::int64_t y = 1; y <= options_.max_extent; ++y) {
      for (std::int64_t x = 1; x <= options_.max_extent; ++x) {
        for (const std::int64_t slab : {std::int64_t{0}, options_.stem_slab}) {
          if (axis_ == 0) try_geometry({{z, y, x}, S, modes, slab});
          try_geometry({{z, y, x}, S, modes, slab, true, axis_});
        }
      }
    }
  }
}

// Streams make groups of the first pooling, of the second by recomputing where the first makes all it can across them,
// and of plain poolings none.
bool BruteForce::may_stream(const std::vector<PoolingMode>& modes) const {
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const bool second = i == 1 && !modes[1].held && modes[0] == all_across();
    if (modes[i].mode == PoolMode::plain || (i > 0 && !second && modes[i] != PoolMode::fragments)) return false;
  }
  return options_.strategy == Strategy::cpu && network_.spatial_rank == 3;
}

PoolingMode BruteForce::all_across() const {
  const Vec3 groups = {1, stride_of(0).y, stride_of(0).x};
  return groups == Vec3::cube(1) ? PoolingMode() : PoolingMode(groups, false);
}

// Returns true for groups by recomputing along y and x where z, which comes first, has its own, or where all of them
// are plain.
bool BruteForce::for_streams_alone(const std::vector<PoolingMode>& modes) const {
  if (modes.size() > 1 && !modes[1].held) return true;
  const bool across = !modes.empty() && !modes[0].held && modes[0].groups.z == 1;
  return across && (stride_of(0).z > 1 || modes[0].groups == stride_of(0));
}

Vec3 BruteForce::stride_of(std::size_t pooling) const {
  const auto node = static_cast<std::size_t>(pooling_nodes(network_)[pooling]);
  return swap_axes(std::get<Pooling>(network_.nodes[node].operation).stride, axis_);
}

// Returns true if a search looks at the choice. Pinned modes may differ from those that it looks at by itself.
bool BruteForce::is_looked_at(const GeometryChoice& choice) const {
  if (options_.strategy != Strategy::cpu && choice.streamed) return false;
  if (!options_.pins.modes.empty()) return !choice.streamed || network_.spatial_rank == 3;
  return choice.streamed ? may_stream(choice.modes) : !for_streams_alone(choice.modes);
}

bool BruteForce::satisfies_pins(const Geometry& geometry) const {
  const GeometryChoice& choice = geometry.choice;
  const auto in_groups = [](const PoolingMode& mode) { return mode.groups != Vec3::cube(1); };
  if (choice.streamed && !options_.pins.streams) return false;
  if (options_.pins.groups) return true;
  return choice.stem_slab == 0 && std::none_of(choice.modes.begin(), choice.modes.end(), in_groups);
}

bool BruteForce::is_pinned_patch(const Geometry& geometry) const {
  const std::optional<Vec3> patch = pinned_patch(options_.pins, network_.spatial_rank);
  return !patch || swap_axes(geometry.patch_input, geometry.choice.axis) == *patch;
}

void BruteForce::try_geometry(const GeometryChoice& choice) {
  if (!is_looked_at(choice)) return;
  Result<Geometry> geometry = make_geometry(network_, choice);
  if (!geometry || !satisfies_pins(*geometry) || !is_pinned_patch(*geometry)) return;
  if (!covers(Vec3::cube(options_.max_extent), geometry->patch_input)) return;
  geometry_ = *std::move(geometry);
  describe_all();
  try_input(0);
}

std::vector<BruteForce::Way> BruteForce::ways_of(const LayerProblem& problem) const {
  std::vector<Way> ways;
  for (const Primitive* primitive : catalogue_.primitives()) {
    const auto estimates = primitive->describe(problem, spec_);
    if (!estimates) continue;
    for (const Estimate& estimate : *estimates) ways.push_back({primitive, estimate});
  }
  return ways;
}

// Describes each problem once: every assignment of the geometry reads the same ways.
void BruteForce::describe_all() {
  ways_.clear();
  pairs_.clear();
  reorders_.clear();
  for (std::size_t node = 0; node < network_.nodes.size(); ++node) {
    ways_.push_back(ways_of(geometry_.problems[node]));
    const Result<ConvPoolProblem> both = pair_problem(network_, geometry_, static_cast<int>(node));
    pairs_.push_back(both ? ways_of(*both) : std::vector<Way>());
  }
  const auto seconds = [&](const Shape5& shape, Format from, Format to) {
    return drawn::describe_reorder(ReorderProblem{shape, from, to}, spec_)->front().time;
  };
  for (const auto& value : geometry_.values) {
    reorders_.push_back({seconds(value, drawn::blocked, drawn::planar), seconds(value, drawn::planar, drawn::blocked)});
  }
}

void BruteForce::try_input(Seconds seconds) {
  steps_.clear();
  formats_ = {Format{}};
  try_node(seconds);
  const Step reordered = {-1, "", 0,           {}, drawn::planar, drawn::planar, drawn::blocked, "drawn.reorder",
                          {}, 0,  Basis::model};
  steps_ = {reordered};
  formats_ = {drawn::blocked};
  try_node(seconds + static_cast<double>(geometry_.windows) * reorder_seconds(0, drawn::blocked));
}

Seconds BruteForce::reorder_seconds(std::size_t value, Format to) const {
  return reorders_[value][to == drawn::planar ? 0 : 1];
}

void BruteForce::try_node(Seconds seconds) {
  const std::size_t node = formats_.size() - 1;
  if (node == network_.nodes.size()) return judge(seconds);
  for (const Way& way : ways_[node]) try_way(node, way, seconds);
  for (const Way& way : pairs_[node]) try_pair(node, way, seconds);
}

void BruteForce::try_pair(std::size_t node, const Way& way, Seconds seconds) {
  if (way.estimate.in != formats_[static_cast<std::size_t>(network_.nodes[node].inputs.front())]) return;
  Step step;
  step.node = static_cast<int>(node);
  step.primitive = way.primitive->name;
  step.version = way.primitive->version;
  step.variant = way.estimate.variant;
  step.in = way.estimate.in;
  step.native = way.estimate.out;
  for (const Format out : {drawn::planar, drawn::blocked}) {
    const bool same = out == way.estimate.out;
    const Seconds reorder = same ? 0 : reorder_seconds(node + 2, out);
    step.out = out;
    step.reorder = same ? "" : "drawn.reorder";
    for (const Step& one : pair_steps(step)) steps_.push_back(one);
    formats_.insert(formats_.end(), {way.estimate.out, out});
    try_node(seconds + static_cast<double>(geometry_.runs[node]) * (way.estimate.time + reorder));
    formats_.resize(formats_.size() - 2);
    steps_.resize(steps_.size() - 2);
  }
}

void BruteForce::try_way(std::size_t node, const Way& way, Seconds seconds) {
  const Estimate& estimate = way.estimate;
  const std::vector<int>& inputs = network_.nodes[node].inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Format wanted = input_format(geometry_.problems[node], static_cast<int>(i), estimate.in, estimate.out);
    if (formats_[static_cast<std::size_t>(inputs[i])] != wanted) return;
  }
  for (const Format out : {drawn::planar, drawn::blocked}) {
    const bool same = out == estimate.out;
    const Seconds reorder = same ? 0 : reorder_seconds(node + 1, out);
    steps_.push_back({static_cast<int>(node),
                      std::string(way.primitive->name),
                      way.primitive->version,
                      estimate.variant,
                      estimate.in,
                      estimate.out,
                      out,
                      same ? "" : "drawn.reorder",
                      {},
                      0,
                      Basis::model});
    formats_.push_back(out);
    try_node(seconds + static_cast<double>(geometry_.runs[node]) * (estimate.time + reorder));
    formats_.pop_back();
    steps_.pop_back();
  }
}

void BruteForce::judge(Seconds seconds) {
  const Result<Schedule> schedule = make_schedule(network_, geometry_, steps_, catalogue_, spec_);
  if (!schedule) return;  // the output is not planar
  ++tried_;
  const std::int64_t bytes = add(pack(schedule->memory).bytes, persistent_bytes(schedule->memory));
  const Geometry run = with_pairs(network_, geometry_, left_out_values(network_, steps_));
  const Seconds patch = seconds + copy_seconds(network_, run, spec_);
  const Vec3 fov = reaches(network_).back().fov;
  double& best = best_[add(bytes, weight_bytes(network_))];
  best = std::max(best, useful_voxels(geometry_, fov, options_.volume) / patch);
}

}  // namespace znni::test
