#include "planner/measure/calibration_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace znni {
namespace {

constexpr Vec3 ones = Vec3::cube(1);
// Operations of the textbook algorithm that one thread gets in a small task; a large one has four times as many.
constexpr double small_flops = 1e9;
constexpr double growth = 4;
constexpr std::int64_t min_output = 6;
constexpr std::int64_t fragments = 4;
// Bytes of the tensors of a small task, per thread.
constexpr double small_bytes = 1.6e7;

// Returns a convolution of S inputs with as much work as asked, unless its tensors would be larger than `bytes`.
LayerProblem convolution(std::int64_t S, std::int64_t f, std::int64_t f_out, std::int64_t k, double flops,
                         double bytes) {
  const double by_work = flops / (2.0 * static_cast<double>(S * f * f_out * k * k * k));
  const double by_bytes = bytes / (4.0 * static_cast<double>(S * (f + f_out)));
  const auto edge = std::max(min_output, static_cast<std::int64_t>(std::cbrt(std::min(by_work, by_bytes))));
  const Vec3 n = Vec3::cube(edge + k - 1);
  return ConvProblem{{S, f, n}, f_out, Vec3::cube(k), ones, ones, {ActivationKind::relu, 0.0F}, false};
}

// Returns cubes of an odd extent, which fragments of a pooling by two take.
Shape5 cubes_of(std::int64_t f, double bytes) {
  const auto edge = static_cast<std::int64_t>(std::cbrt(bytes / 4 / static_cast<double>(f)));
  return {1, f, Vec3::cube(std::max<std::int64_t>(min_output, edge) / 2 * 2 + 1)};
}

PoolProblem pooling(const Shape5& in, PoolMode mode) {
  Shape5 shape = in;
  if (mode == PoolMode::plain) shape.n = shape.n - ones;
  return {shape, Vec3::cube(2), Vec3::cube(2), PoolKind::max, mode, ones, ones};
}

std::vector<LayerProblem> problems(const DeviceSpec& spec, double scale) {
  const double flops = scale * small_flops * spec.threads;
  const double bytes = scale * small_bytes * spec.threads;
  std::vector<LayerProblem> all;
  for (const std::int64_t k : {3, 5, 7, 2, 1}) {
    for (const auto& [f, f_out] : {std::pair{1, 80}, std::pair{80, 80}, std::pair{80, 3}, std::pair{24, 24}}) {
      // The large ones within a net are fragments, as behind a pooling.
      const std::int64_t S = scale > 1 && f > 1 ? fragments : 1;
      all.push_back(convolution(S, f, f_out, k, flops, bytes));
    }
  }
  // First layers with the poolings behind them: odd kernels leave odd extents odd.
  for (const std::int64_t k : {3, 5, 7}) {
    const ConvProblem first{cubes_of(1, bytes / 80), 80, Vec3::cube(k), ones, ones, {ActivationKind::relu, 0.0F}};
    all.emplace_back(ConvPoolProblem{first, pooling(output_shape(first), PoolMode::fragments)});
  }
  const Shape5 in = cubes_of(80, bytes);
  for (const PoolMode mode : {PoolMode::fragments, PoolMode::plain}) all.emplace_back(pooling(in, mode));
  for (const ActivationKind kind : {ActivationKind::relu, ActivationKind::sigmoid}) {
    all.emplace_back(ActivationProblem{in, {kind, 0.0F}});
  }
  all.emplace_back(AddProblem{in, 2, {}});
  all.emplace_back(ScaleShiftProblem{in});
  for (const std::int64_t groups : {in.f, in.f / 8}) all.emplace_back(NormProblem{in, groups});
  all.emplace_back(GlobalPoolProblem{in});
  all.emplace_back(AttentionProblem{{1, 64, Vec3::cube(scale > 1 ? 12 : 8)}, 64, 4});
  all.emplace_back(AddVolumeProblem{in, in.n});
  all.emplace_back(ConcatProblem{{in, in}});
  all.emplace_back(CropProblem{in, ones, ones});
  // Each writes about as many bytes as the others do.
  all.emplace_back(UpsampleProblem{cubes_of(80, bytes / 8), Vec3::cube(2), UpsampleKind::nearest});
  all.emplace_back(UpsampleProblem{cubes_of(80, bytes / 8), Vec3::cube(2), UpsampleKind::linear});
  all.emplace_back(UpsampleProblem{cubes_of(80, bytes / 8), Vec3::cube(2), UpsampleKind::aligned});
  all.emplace_back(UpsampleProblem{cubes_of(640, bytes), Vec3::cube(2), UpsampleKind::shuffle});
  all.emplace_back(AcrossChannelsProblem{cubes_of(3, bytes)});
  for (const AcrossKind kind : {AcrossKind::log_softmax, AcrossKind::arg_max}) {
    all.emplace_back(AcrossChannelsProblem{cubes_of(3, bytes), kind});
  }
  all.emplace_back(AcrossChannelsProblem{in, AcrossKind::norm});
  const Format blocked{ElementType::f32, spec.simd_floats == 16 ? Layout::blocked16 : Layout::blocked8};
  all.emplace_back(ReorderProblem{in, {}, blocked});
  all.emplace_back(ReorderProblem{in, blocked, {}});
  return all;
}

// Removes ways that take over `worth_timing` times the fastest, but for the fastest of each primitive, because it may
// be chosen where memory is short. Removes all that are `never_chosen`, which would take the time of the rest.
void without_hopeless(std::vector<Way>& all) {
  constexpr double worth_timing = 3;
  constexpr double never_chosen = 30;
  std::map<const Primitive*, Seconds> least;
  Seconds fastest = std::numeric_limits<double>::infinity();
  for (const Way& way : all) {
    fastest = std::min(fastest, way.expected);
    const auto [own, fresh] = least.try_emplace(way.primitive, way.expected);
    if (!fresh) own->second = std::min(own->second, way.expected);
  }
  std::erase_if(all, [&](const Way& way) {
    const bool is_rival = way.expected <= worth_timing * fastest || way.expected <= least[way.primitive];
    return !is_rival || way.expected > never_chosen * fastest;
  });
}

std::vector<Way> ways(const LayerProblem& problem, const Catalogue& catalogue, const DeviceSpec& spec,
                      CostSource& costs) {
  std::vector<Way> all;
  for (const Primitive* primitive : catalogue.primitives()) {
    if (primitive->device != spec.kind) continue;
    Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
    if (!estimates) continue;
    for (Estimate& estimate : *estimates) {
      const Seconds expected = costs.cost(problem, *primitive, estimate).seconds;
      all.push_back({primitive, std::move(estimate), expected});
    }
  }
  without_hopeless(all);
  return all;
}

}  // namespace

std::vector<CalibrationTask> calibration_set(const Catalogue& catalogue, const DeviceSpec& spec, CostSource& costs) {
  std::vector<CalibrationTask> tasks;
  for (const double scale : {1.0, growth}) {
    for (LayerProblem& problem : problems(spec, scale)) {
      if (!check(problem)) continue;
      std::vector<Way> all = ways(problem, catalogue, spec, costs);
      if (!all.empty()) tasks.push_back({std::move(problem), std::move(all)});
    }
  }
  return tasks;
}

}  // namespace znni
