#include "primitives/cpu/fft_tiled/tile_choice.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/fft_tiled/tile_model.hpp"

namespace znni::cpu::fft_tiled {
namespace {

// Tiles that share one pass over the kernel spectra: more hide the pass, fewer need less memory.
constexpr std::int64_t wanted_tiles[] = {24, 64, 128};
// Numbers of tiles tried per axis, from the fewest on: more and smaller tiles cost more arithmetic, but less memory.
constexpr std::size_t counts_per_axis = 5;
constexpr std::size_t max_offers = 8;
// The fewest tiles of a batch of a worker's own.
constexpr std::int64_t min_own_tiles = 4;

// Tells whether packed units leave fewer empty lanes than blocks, although the last group may have fewer stacks.
bool saves_lanes(const ConvProblem& problem, std::int64_t lanes, std::int64_t stacks) {
  const auto floats = [&](bool packs, std::int64_t of) {
    const ChannelSplit in = split_channels(problem.in.f, lanes, packs);
    const ChannelSplit out = split_channels(problem.f_out, lanes, packs);
    return of * (lanes * (in.blocks + out.blocks) + unit_lanes * (in.units + out.units));
  };
  return floats(true, round_up(stacks, lanes / unit_lanes)) < floats(false, stacks);
}

// Lets `wanted` stacks share each pass over the kernel spectra, or all stacks if there are fewer.
void set_stacks(TilePlan& plan, std::int64_t wanted, std::int64_t all, std::int64_t tiles_z) {
  const std::int64_t stacks = std::clamp<std::int64_t>(wanted, 1, all);
  plan.tiling.stacks_per_batch = stacks;
  plan.slots = stacks < all ? 2 : 1;
  plan.products = cheaper_products(stacks * tiles_z);
}

// A plan in few bytes, because a search compares hundreds of plans for every layer of every patch.
struct Choice {
  Vec3 T;
  std::int64_t stacks = 1;
  bool keep = true;
  bool own = false;
  bool packs = false;
};

// Returns a plan that has its problem, but no extents of tiles.
TilePlan empty_plan(const ConvProblem& problem, const TileKernels& kernels, bool own) {
  const Phases phases = own ? planes_of(problem) : phases_of(problem);
  TilePlan plan;
  plan.tiling = {phase_problem(problem, phases), kernels.lanes, {}, 1, phases};
  plan.own_batches = own;
  return plan;
}

TilePlan make_plan(const ConvProblem& problem, const TileKernels& kernels, const Choice& choice) {
  TilePlan plan = empty_plan(problem, kernels, choice.own);
  plan.tiling.T = choice.T;
  plan.keep_spectra = choice.keep;
  plan.tiling.packs = choice.packs;
  set_stacks(plan, choice.stacks, plan.tiling.stacks(), plan.tiling.tiles().z);
  return plan;
}

// The numbers by which choices are compared.
struct Worth {
  Seconds seconds = 0;
  TileBytes bytes;
  std::int64_t sum = 0;  // of the bytes
};

// Holds the choices on the stack. A search describes so many layers that heap blocks of this size would keep the
// allocator busy. What is compared lies by itself, and is compared without branches, which would be mispredicted.
class Choices {
 public:
  void add(const Choice& choice, Seconds seconds, const TileBytes& bytes) {
    all_[count_] = choice;
    worth_[count_] = {seconds, bytes, znni::add(bytes.persistent, bytes.scratch)};
    left_[count_] = static_cast<std::uint16_t>(count_);
    packs_ = packs_ || choice.packs;
    ++count_;
  }

  // Returns the choices that are fastest for their memory, by rising time; of equally fast ones the first. Removes the
  // others. Where channels come packed and in blocks, there are too many of them: the last is the one that needs least.
  std::vector<Choice> worth_offering() {
    std::vector<Choice> kept;
    kept.reserve(max_offers);
    while (count_ > 0 && kept.size() < max_offers) {
      const bool is_last = kept.size() + 1 == max_offers;
      const std::size_t next = packs_ && is_last ? leanest_left() : fastest_left();
      kept.push_back(all_[next]);
      drop_those_behind(next);
    }
    return kept;
  }

 private:
  // Returns the number of the first fastest choice that is left. Requires one.
  [[nodiscard]] std::size_t fastest_left() const {
    std::size_t fastest = left_[0];
    Seconds least = worth_[fastest].seconds;
    for (std::size_t i = 1; i < count_; ++i) {
      const std::size_t each = left_[i];
      const bool is_faster = worth_[each].seconds < least;
      fastest = is_faster ? each : fastest;
      least = is_faster ? worth_[each].seconds : least;
    }
    return fastest;
  }

  // Returns the number of the first that is left and needs the least memory. Requires one.
  [[nodiscard]] std::size_t leanest_left() const {
    return *std::min_element(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(count_),
                             [&](std::size_t a, std::size_t b) { return worth_[a].sum < worth_[b].sum; });
  }

  // Leaves, in their order, the choices that need less memory than `first`, which is the fastest, and by so much that a
  // timing of them is worthwhile.
  void drop_those_behind(std::size_t first) {
    constexpr double hardly = 1.15;  // as slow, with about as much memory: not worth a timing
    const Worth& best = worth_[first];
    const Seconds about_as_fast = hardly * best.seconds;
    const std::int64_t about_as_much = best.sum / 4 * 3;
    std::size_t left = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint16_t each = left_[i];
      const Worth& worth = worth_[each];
      const bool beaten =
          (best.bytes.persistent <= worth.bytes.persistent) & (best.bytes.scratch <= worth.bytes.scratch);
      const bool alike =
          (all_[each].keep == all_[first].keep) & (worth.seconds < about_as_fast) & (worth.sum > about_as_much);
      left_[left] = each;
      left += (beaten | alike) ? 0 : 1;
    }
    count_ = left;
  }

  // Kernels of one tap along z have own batches, too, but only one extent along z.
  static constexpr std::size_t most = counts_per_axis * counts_per_axis * counts_per_axis * std::size(wanted_tiles) * 4;
  std::array<Choice, most> all_;
  std::array<Worth, most> worth_;
  std::array<std::uint16_t, most> left_;  // numbers of those that are left
  std::size_t count_ = 0;                 // of those
  bool packs_ = false;                    // there are packed ones
};

// Adds all numbers of stacks for one extent of tiles, in one form of the channels. `plan` is that of the layer; its
// stacks are set here. Units are packed for three products, which alone have a form for it.
void add_stacks(TilePlan& plan, const TileKernels& kernels, const DeviceSpec& spec, Choices& choices) {
  const Tiling& t = plan.tiling;
  const TileModel model(t, spec);
  const TileByteModel bytes(t, kernels, spec.threads);
  std::int64_t before = 0;
  for (const std::int64_t wanted : wanted_tiles) {
    const std::int64_t fewest = round_up(div_up(wanted, model.tiles_z()), t.group());
    set_stacks(plan, fewest, model.stacks(), model.tiles_z());
    if (t.stacks_per_batch == before) break;
    before = t.stacks_per_batch;
    if (t.packs && plan.products != Products::three) continue;
    for (const bool keep : {true, false}) {
      const Seconds seconds = model.seconds(before, keep, plan.products);
      choices.add({t.T, before, keep, false, t.packs}, seconds, bytes.bytes(before, plan.slots, plan.products, keep));
    }
  }
}

// Adds all choices for one extent of tiles. `plan` is that of the layer; its extents and stacks are set here. Channels
// that may be packed are also added in blocks: groups of stacks save lanes, but need more memory where stacks are
// large.
void add_choices(TilePlan& plan, const TileKernels& kernels, const DeviceSpec& spec, Vec3 T, Choices& choices) {
  plan.tiling.T = T;
  const bool may_pack = kernels.packs && saves_lanes(plan.tiling.problem, kernels.lanes, plan.tiling.stacks());
  for (const bool packs : {true, false}) {
    if (packs && !may_pack) continue;
    plan.tiling.packs = packs;
    add_stacks(plan, kernels, spec, choices);
  }
}

// Adds the batches of which each worker computes its own: as large as half of its cache holds, but equally many for
// all workers. Adds none if these are too small to share the kernel spectra. `plan` is as in add_choices().
void add_own_batches(TilePlan& plan, const TileKernels& kernels, const DeviceSpec& spec, Vec3 T, Choices& choices) {
  plan.tiling.T = T;
  const TileModel model(plan.tiling, spec);
  const std::int64_t each = float_bytes(mul(plan.tiling.columns(), plan.tiling.stack_step()));
  const std::int64_t fitting = std::min(spec.l2_bytes / 2 / each, max_tiles_per_batch(1));
  if (fitting < min_own_tiles) return;
  const std::int64_t rounds = div_up(model.stacks(), spec.threads * fitting);
  set_stacks(plan, div_up(model.stacks(), spec.threads * rounds), model.stacks(), 1);
  const std::int64_t stacks = plan.tiling.stacks_per_batch;
  const TileByteModel bytes(plan.tiling, kernels, spec.threads);
  choices.add({T, stacks, true, true}, model.own_seconds(stacks, spec.threads, plan.products, true),
              bytes.bytes(stacks, spec.threads, plan.products, true));
}

}  // namespace

std::int64_t max_tiles_per_batch(std::int64_t tiles_z) { return round_up(*std::rbegin(wanted_tiles), tiles_z); }

std::vector<std::int64_t> extents_along(const ConvProblem& problem, int axis, bool has_border) {
  if (axis == 0 && problem.k.z == 1) return {1};
  std::vector<std::int64_t> extents;
  extents.reserve(tile_extents().size());
  const std::int64_t out = problem.in.n[axis] - problem.k[axis] + 1;
  std::int64_t tiles = saturated;
  for (const std::int64_t extent : tile_extents()) {
    if (extent < problem.k[axis]) continue;
    const bool is_whole = has_border && extent >= out;
    const std::int64_t here = is_whole ? 1 : div_up(out, extent - problem.k[axis] + 1);
    if (here < tiles) extents.push_back(extent);
    tiles = std::min(tiles, here);
  }
  std::reverse(extents.begin(), extents.end());
  extents.resize(std::min(extents.size(), counts_per_axis));
  return extents;
}

std::vector<TilePlan> tile_plans(const ConvProblem& problem, const TileKernels& kernels, const DeviceSpec& spec) {
  Choices choices;
  TilePlan plan = empty_plan(problem, kernels, false);
  TilePlan own = empty_plan(problem, kernels, problem.k.z == 1);
  const ConvProblem& phase = plan.tiling.problem;
  const std::vector<std::int64_t> along_y = extents_along(phase, 1);
  const std::vector<std::int64_t> along_x = extents_along(phase, 2);
  for (const std::int64_t z : extents_along(phase, 0)) {
    for (const std::int64_t y : along_y) {
      for (const std::int64_t x : along_x) {
        add_choices(plan, kernels, spec, {z, y, x}, choices);
        if (own.own_batches) add_own_batches(own, kernels, spec, {z, y, x}, choices);
      }
    }
  }
  std::vector<TilePlan> plans;
  for (const Choice& choice : choices.worth_offering()) {
    plans.push_back(make_plan(problem, kernels, choice));
  }
  return plans;
}

std::vector<std::pair<Format, Format>> tile_formats(const ConvProblem& problem, const DeviceSpec& spec) {
  const Format blocked = blocked_format(spec);
  const std::int64_t width = block_width(blocked.layout);
  std::vector<std::pair<Format, Format>> formats;
  for (const Format in : {blocked, planar_format}) {
    if (in == planar_format && problem.in.f >= width) continue;
    for (const Format out : {blocked, planar_format}) {
      if (out == planar_format && problem.f_out >= width) continue;
      formats.emplace_back(in, out);
    }
  }
  return formats;
}

Variant variant_of(const TilePlan& plan) {
  const Tiling& t = plan.tiling;
  Variant variant{{"tile_z", t.T.z},
                  {"tile_y", t.T.y},
                  {"tile_x", t.T.x},
                  {"stacks", t.stacks_per_batch},
                  {"keep_spectra", plan.keep_spectra ? 1 : 0},
                  {"products", plan.products == Products::three ? 3 : 4}};
  if (plan.own_batches) variant.push_back({"own_batches", 1});
  if (t.packs) variant.push_back({"packed", 1});
  return variant;
}

TilePlan tile_plan(const ConvProblem& problem, const TileKernels& kernels, const Variant& variant) {
  const Vec3 T{setting(variant, "tile_z", 16), setting(variant, "tile_y", 16), setting(variant, "tile_x", 16)};
  TilePlan plan = make_plan(problem, kernels,
                            {T, setting(variant, "stacks", 1), setting(variant, "keep_spectra", 1) != 0,
                             setting(variant, "own_batches", 0) != 0, setting(variant, "packed", 0) != 0});
  plan.products = setting(variant, "products", 3) == 4 ? Products::four : Products::three;
  return plan;
}

Estimate estimate_of(const ConvProblem& problem, const TilePlan& plan, const TileKernels& kernels,
                     const DeviceSpec& spec, Format in, Format out) {
  Estimate estimate{variant_of(plan), in, out, tile_seconds(plan, spec), {}};
  estimate.memory = tile_memory(problem, plan, kernels, spec.threads, in, out);
  const Tiling& t = plan.tiling;
  estimate.spread = (min(t.T, t.problem.in.n) - t.problem.k) * t.phases.dilation;
  return estimate;
}

}  // namespace znni::cpu::fft_tiled
