#include "planner/split/patch_search.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "planner/geometry/cube.hpp"
#include "planner/plan/throughput.hpp"

namespace znni {
namespace {

// If theta is pinned, there are fewer cuts, so the search looks at this many times as many candidates.
constexpr std::int64_t more_of_pinned_theta = 4;
// Sizes of each kind of candidate, in parts of the candidates of which all are looked at.
constexpr std::int64_t sizes_of_64 = 3;

// Returns true if layers through host RAM are looked at for this choice. They take long to look at, so few of many
// candidates are: S of 1, squares across a stream of 2, 4, 8, ... strides of new planes, and cubes, each kind spread
// over its sizes, and none with a plain pooling. A pinned S and pinned modes count as those do. `stride`: of all
// poolings together. A patch of one plane may be a square.
bool suits_host_ram(const GeometryChoice& choice, Vec3 stride, int rank, const Pins& pins) {
  const bool fragments =
      !pins.modes.empty() || std::all_of(choice.modes.begin(), choice.modes.end(),
                                         [](const PoolingMode& mode) { return mode.mode == PoolMode::fragments; });
  const Vec3 n = choice.pass_input;
  const std::int64_t strides = n.z / stride[choice.axis];
  const bool step = n.y == n.x && strides > 1 && (strides & (strides - 1)) == 0;
  return fragments && choice.S == pins.S.value_or(1) && (choice.streamed ? step : is_cube(n, rank) || is_cube(n, 2));
}

// Returns up to `count` of them, the first and the last included where there are two.
void append_spread(const std::vector<GeometryChoice>& sizes, std::size_t count, std::vector<GeometryChoice>& few) {
  count = std::min(sizes.size(), count);
  for (std::size_t i = 0; i < count; ++i) few.push_back(sizes[count > 1 ? i * (sizes.size() - 1) / (count - 1) : 0]);
}

std::vector<GeometryChoice> few_of(const std::vector<GeometryChoice>& candidates, Vec3 stride, int rank,
                                   const SearchOptions& options) {
  const Pins& pins = options.pins;
  const std::int64_t all = mul(options.max_through_host_ram, pins.theta.empty() ? 1 : more_of_pinned_theta);
  if (std::ssize(candidates) <= all) return candidates;
  std::map<std::tuple<std::vector<PoolingMode>, int, std::int64_t>, std::vector<GeometryChoice>> kinds;
  for (const GeometryChoice& choice : candidates) {
    if (!suits_host_ram(choice, stride, rank, pins)) continue;
    kinds[{choice.modes, choice.axis, choice.streamed ? choice.pass_input.z : 0}].push_back(choice);
  }
  const auto count = static_cast<std::size_t>(div_up(mul(all, sizes_of_64), 64));
  std::vector<GeometryChoice> few;
  for (const auto& [kind, sizes] : kinds) append_spread(sizes, count, few);
  return few;
}

// Drops ways with products in fewer bits: primitives, of which some must ask a library for each, then need not describe
// them.
PlaceSpecs as_fine_as(Precision coarsest, PlaceSpecs specs) {
  if (coarsest < Precision::tf32) specs.gpu.accelerator.tf32_flops_per_second = 0;
  if (coarsest < Precision::bf16) specs.gpu.accelerator.bf16_flops_per_second = 0;
  return specs;
}

}  // namespace

PatchSearch::PatchSearch(const Network& network, const Catalogue& catalogue, CostSource& costs, const PlaceSpecs& specs,
                         const CutLimits& limits, const SearchOptions& options)
    : network_(network),
      options_(options),
      fov_(reaches(network).back().fov),
      stride_(reaches(network).back().stride),
      specs_(as_fine_as(options.precision, specs)),
      simple_(network, catalogue, costs, specs_, {limits.head, false, limits.until}, options.precision, options.stop) {
  if (!limits.host_ram) return;
  divided_.emplace(network, catalogue, costs, specs_, limits, options.precision, options.stop);
}

std::optional<WeighedRung> PatchSearch::best(const std::vector<GeometryChoice>& candidates, const PatchQuery& query,
                                             SearchLog* log, std::optional<WeighedRung> found) {
  found = best_whole(candidates, query, log, std::move(found));
  if (!divided_) return found;
  return best_of(*divided_, few_of(candidates, stride_, network_.spatial_rank, options_), query, log, std::move(found));
}

std::optional<WeighedRung> PatchSearch::best_whole(const std::vector<GeometryChoice>& candidates,
                                                   const PatchQuery& query, SearchLog* log,
                                                   std::optional<WeighedRung> found) {
  return best_of(simple_, candidates, query, log, std::move(found));
}

const Result<GeometryFamily>& PatchSearch::family_of(const GeometryChoice& choice) {
  const auto found = families_.find(choice);
  return found != families_.end() ? found->second
                                  : families_.emplace(choice, GeometryFamily::make(network_, choice)).first->second;
}

std::optional<WeighedRung> PatchSearch::best_of(SplitSearch& search, const std::vector<GeometryChoice>& candidates,
                                                const PatchQuery& query, SearchLog* log,
                                                std::optional<WeighedRung> best) {
  for (const GeometryChoice& choice : candidates) {
    if (stopped()) break;
    const double record = best ? best->voxels_per_second : query.floor;
    Result<WeighedRung> found = look(search, choice, query, log != nullptr ? options_.logged_share * record : record);
    if (log != nullptr) tell(choice, found, &search != &simple_, *log);
    if (found && found->voxels_per_second > record) best = std::move(*found);
  }
  return best;
}

bool PatchSearch::PatchOrder::operator()(const GeometryChoice& a, const GeometryChoice& b) const {
  return a.pass_input != b.pass_input ? a.pass_input < b.pass_input : FamilyOrder{}(a, b);
}

Result<WeighedRung> PatchSearch::look(SplitSearch& search, const GeometryChoice& choice, const PatchQuery& query,
                                      double to_beat) {
  KnownPatches& known = known_of(search);
  const auto least = known.find(choice);
  if (least != known.end() && least->second.volume == query.volume && to_beat > 0 &&
      least->second.useful / to_beat <= least->second.seconds) {
    reason_ = {ErrorCode::unsupported, "slower than another patch"};
    return reason_;
  }
  const Result<GeometryFamily>& family = family_of(choice);
  Result<Geometry> geometry = family ? family->with_passes(choice.pass_input) : family.error();
  if (!geometry) return geometry.error();
  const double useful = useful_voxels(*geometry, fov_, query.volume);
  const Seconds below = to_beat > 0 ? useful / to_beat : std::numeric_limits<double>::infinity();
  auto [found, in_any_memory] = search.look(*geometry, query.budget, below);
  if (in_any_memory) {
    known.insert_or_assign(choice, LeastSeconds{query.volume, useful, found ? found->rung.seconds : below});
  }
  if (!found) {
    reason_ = found.error();
    return found.error();
  }
  const double voxels_per_second = useful / found->rung.seconds;
  return WeighedRung{*std::move(found), *std::move(geometry), voxels_per_second};
}

// Logs a patch once, as the better of what was found without layers through host RAM and with them. `again`: it may be
// there.
void PatchSearch::tell(const GeometryChoice& choice, const Result<WeighedRung>& found, bool again,
                       SearchLog& log) const {
  const Candidate told = found ? candidate(choice, *found) : Candidate{choice, 0, {}, found.error().message};
  const auto first = again ? log.candidates.begin() : log.candidates.end();
  const auto same =
      std::find_if(first, log.candidates.end(), [&](const Candidate& other) { return other.choice == choice; });
  if (same == log.candidates.end()) {
    log.candidates.push_back(told);
  } else if (told.voxels_per_second > same->voxels_per_second) {
    *same = told;
  }
}

Candidate PatchSearch::candidate(const GeometryChoice& choice, const WeighedRung& found) const {
  const SpaceBytes& bytes = found.choice.bytes;
  return {choice, found.voxels_per_second, {weight_bytes(network_), 0, add(bytes.host, bytes.pinned)}, ""};
}

}  // namespace znni
