#include "planner/report/curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "planner/base/subsample.hpp"
#include "planner/base/text_table.hpp"
#include "planner/geometry/cube.hpp"
#include "planner/search/candidates.hpp"
#include "planner/search/geometry_search.hpp"
#include "planner/search/search_session.hpp"

namespace znni {
namespace {

bool is_stopped(const std::function<bool()>& stop) { return stop && stop(); }

CurveSample sample(const CurveSetting& setting, SearchSession& searches, std::int64_t limit) {
  const Result<Plan> plan = searches.within(limit);
  if (!plan) return {limit, {}, 0, 0};
  const Result<Geometry> geometry = make_geometry(setting.network, plan->ladder.front().geometry);
  return {limit, geometry ? geometry->patch_input : Vec3{}, plan->predicted.voxels_per_second, plan->memory.total()};
}

// Returns candidates by the edge of their cubic patch.
std::map<std::int64_t, std::vector<GeometryChoice>> cubes(const CurveSetting& setting) {
  std::map<std::int64_t, std::vector<GeometryChoice>> of_edge;
  for (const GeometryChoice& choice : make_candidates(setting.network, setting.options)) {
    const Result<Geometry> geometry = make_geometry(setting.network, choice);
    if (!geometry) continue;
    const Vec3 n = geometry->patch_input;
    if (is_cube(n, setting.network.spatial_rank) && choice.S == 1) of_edge[n.x].push_back(choice);
  }
  return of_edge;
}

}  // namespace

PlanWithin search_within(const CurveSetting& setting) {
  const auto searches =
      std::make_shared<SearchSession>(setting.network, setting.spec, setting.catalogue, setting.costs, setting.options);
  return [&setting, searches](std::int64_t limit) { return sample(setting, *searches, limit); };
}

std::vector<CurveSample> by_memory(const PlanWithin& within, const std::vector<std::int64_t>& limits,
                                   const std::function<bool()>& stop) {
  std::vector<CurveSample> samples;
  for (const std::int64_t limit : limits) {
    if (is_stopped(stop)) break;
    const CurveSample found = within(limit);
    if (is_stopped(stop)) break;  // it was not searched to its end
    samples.push_back(found);
  }
  return samples;
}

std::vector<std::int64_t> limits_between(std::int64_t from, std::int64_t to, const std::optional<std::int64_t>& also) {
  std::set<std::int64_t> limits = {from, to};
  for (int step = 1;; ++step) {
    const double wanted = static_cast<double>(from) * std::exp2(step / 2.0);
    if (wanted >= static_cast<double>(to)) break;
    limits.insert(static_cast<std::int64_t>(wanted));
  }
  if (also && from <= *also && *also <= to) limits.insert(*also);
  return {limits.begin(), limits.end()};
}

std::vector<CurveSample> by_size(const CurveSetting& setting, std::size_t count) {
  const std::map<std::int64_t, std::vector<GeometryChoice>> of_edge = cubes(setting);
  std::vector<std::int64_t> edges;
  for (const auto& [edge, choices] : of_edge) edges.push_back(edge);
  const std::vector<const Primitive*> forced(setting.network.nodes.size(), nullptr);
  GeometrySearch geometries(setting.network, setting.spec, setting.catalogue, setting.costs, setting.options, forced);
  RungQuery query;
  const std::int64_t weights = weight_bytes(setting.network);
  query.total = setting.options.memory_limit - weights;
  query.volume = setting.options.volume;
  std::vector<CurveSample> samples;
  for (const std::int64_t edge : subsample(edges, count)) {
    if (is_stopped(setting.options.stop)) break;
    const std::optional<FoundRung> best = geometries.best(of_edge.at(edge), query);
    const Vec3 patch = cube_of(edge, setting.network.spatial_rank);
    samples.push_back({setting.options.memory_limit, best ? best->geometry.patch_input : patch,
                       best ? best->voxels_per_second : 0, best ? best->rung.memory.total() : 0});
    if (!best && edge > edges.front()) break;
  }
  return samples;
}

std::string next_better(const PlanWithin& within, std::int64_t limit, double voxels_per_second,
                        const std::string& memory, const std::function<bool()>& stop) {
  constexpr std::array factors = {1.25, 1.6, 2.5, 4.0};
  for (const double factor : factors) {
    if (is_stopped(stop)) return "";
    const double wanted = std::min(9e18, static_cast<double>(limit) * factor);
    const CurveSample more = within(static_cast<std::int64_t>(wanted));
    if (more.voxels_per_second < worth_telling * voxels_per_second) continue;
    return "with " + bytes_text(std::max<std::int64_t>(0, more.bytes - limit)) + " more " + memory + ", " +
           fixed_text(more.voxels_per_second / voxels_per_second, 2) + " x (patches of " + to_string(more.patch_input) +
           ")";
  }
  if (is_stopped(stop)) return "";
  return "four times the " + memory + " would not make it 5 % faster";
}

}  // namespace znni
