#include "tests/server/pipeline/split_plan.hpp"

#include <algorithm>
#include <utility>

#include "planner/layers/pipeline_bytes.hpp"
#include "planner/layers/schedule.hpp"
#include "planner/plan/pairs.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni::test {
namespace {

// Returns true if an estimate is planar, without a product in fewer bits than float32 has.
bool is_planar_f32(const Estimate& estimate) {
  return estimate.in == Format{} && estimate.out == Format{} && setting(estimate.variant, "tf32", 0) == 0;
}

Result<Step> step_of(int node, const LayerProblem& problem, DeviceKind kind, const DeviceSpec& spec,
                     const Catalogue& catalogue) {
  for (const Primitive* primitive : catalogue.primitives()) {
    if (primitive->device != kind) continue;
    const Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
    if (!estimates) continue;
    const auto plain = std::find_if(estimates->begin(), estimates->end(), is_planar_f32);
    if (plain == estimates->end()) continue;
    Step step;
    step.node = node;
    step.primitive = primitive->name;
    step.version = primitive->version;
    step.variant = plain->variant;
    step.seconds = plain->time;
    return step;
  }
  return Error{ErrorCode::unsupported, "no primitive for " + to_string(problem)};
}

}  // namespace

Catalogue split_catalogue() { return split_catalogue(sim_backend().primitives); }

Catalogue split_catalogue(std::span<const Primitive* const> gpu) {
  const Backend other{"gpu", nullptr, nullptr, gpu};
  const Backend* const rows[] = {&oracle_backend(), &other};
  return Catalogue::make(rows).value();
}

Catalogue pair_catalogue() {
  const std::span<const Primitive* const> single = sim_backend().primitives;
  std::vector<const Primitive*> gpu(single.begin(), single.end());
  gpu.push_back(&sim_conv_pool());
  return split_catalogue(gpu);
}

int join_pairs(const Network& network, Rung& rung) {
  const Geometry geometry = make_geometry(network, rung.geometry).value();
  int joined = 0;
  for (Segment& segment : rung.segments) {
    for (std::size_t i = 0; segment.place == Place::gpu && i + 1 < segment.steps.size(); ++i) {
      if (!pair_problem(network, geometry, segment.steps[i].node)) continue;
      Step first = segment.steps[i];
      first.primitive = sim_conv_pool().name;
      first.version = sim_conv_pool().version;
      first.variant.clear();
      const std::array<Step, 2> both = pair_steps(first);
      std::copy(both.begin(), both.end(), segment.steps.begin() + static_cast<std::ptrdiff_t>(i));
      ++joined;
      ++i;
    }
  }
  return joined;
}

std::vector<int> legal_cuts(const Network& network) {
  const std::vector<int> last = last_readers(network);
  std::vector<int> cuts;
  for (int first = 0; first < static_cast<int>(network.nodes.size()); ++first) {
    const auto read_later = [&](int reader) { return reader >= first; };
    if (std::none_of(last.begin(), last.begin() + first, read_later)) cuts.push_back(first);
  }
  return cuts;
}

Result<Rung> split_rung(const Network& network, const GeometryChoice& choice, int theta, std::int64_t micro_batch,
                        const DeviceSpec& cpu, const DeviceSpec& gpu) {
  const Result<Geometry> geometry = make_geometry(network, choice);
  if (!geometry) return geometry.error();
  const int nodes = static_cast<int>(network.nodes.size());
  Segment head{0, theta - 1, Place::cpu, {}, {}};
  Segment tail{theta, nodes - 1, Place::gpu, {micro_batch}, {}};
  for (int node = 0; node < nodes; ++node) {
    const bool on_cpu = node < theta;
    const DeviceKind kind = on_cpu ? DeviceKind::cpu : DeviceKind::gpu;
    Result<Step> step =
        step_of(node, problem_on(kind, network, *geometry, node), kind, on_cpu ? cpu : gpu, split_catalogue());
    if (!step) return step.error();
    (on_cpu ? head : tail).steps.push_back(std::move(*step));
  }
  Rung rung;
  rung.geometry = choice;
  if (theta > 0) rung.segments.push_back(std::move(head));
  rung.segments.push_back(std::move(tail));
  return rung;
}

Result<Rung> rung_of_three(const Network& network, const GeometryChoice& choice, int theta, int until,
                           const DeviceSpec& cpu, const DeviceSpec& gpu, Random& random, const Catalogue& catalogue) {
  const Result<Geometry> geometry = make_geometry(network, choice);
  if (!geometry) return geometry.error();
  const int nodes = static_cast<int>(network.nodes.size());
  std::vector<Segment> segments = {{0, theta - 1, Place::cpu, {}, {}},
                                   {theta, until - 1, Place::gpu_host_ram, {}, {}},
                                   {until, nodes - 1, Place::gpu, {}, {}}};
  for (Segment& segment : segments) {
    for (int node = segment.first; node <= segment.last; ++node) {
      const bool in_tail = segment.place == Place::gpu;
      const LayerProblem problem = problem_on(in_tail ? DeviceKind::gpu : DeviceKind::cpu, network, *geometry, node);
      const auto* conv = std::get_if<ConvProblem>(&problem);
      const bool divided = conv != nullptr && segment.place == Place::gpu_host_ram;
      const bool on_gpu = divided || in_tail;
      Result<Step> step =
          step_of(node, problem, on_gpu ? DeviceKind::gpu : DeviceKind::cpu, on_gpu ? gpu : cpu, catalogue);
      if (!step) return step.error();
      if (divided) {
        const bool cuts_channels = conv->in.f > 1 && random.chance(0.5);
        // At most six parts of the batch: fragments are many, and each part is a job of its own.
        step->division = {{random.integer(div_up(conv->in.S, 6), conv->in.S), cuts_channels ? 1 : 0,
                           random.integer(0, conv->f_out), random.integer(0, output_shape(problem).n.z)}};
      }
      segment.steps.push_back(std::move(*step));
    }
  }
  std::erase_if(segments, [](const Segment& segment) { return segment.last < segment.first; });
  Rung rung;
  rung.geometry = choice;
  rung.segments = std::move(segments);
  return rung;
}

std::vector<CutsOfThree> cuts_of_three(const Network& network, Random& random) {
  std::vector<int> cuts = legal_cuts(network);
  cuts.push_back(static_cast<int>(network.nodes.size()));
  std::vector<CutsOfThree> all;
  for (const int until : cuts) {
    const int theta = random.chance(0.5) ? 0 : cuts[static_cast<std::size_t>(random.integer(0, std::ssize(cuts) - 1))];
    if (theta < until) all.push_back({theta, until});
  }
  return all;
}

Plan mixed_plan(const Network& network, const GeometryChoice& choice, int theta, const DeviceSpec& cpu,
                const DeviceSpec& gpu, bool fallback) {
  return mixed_plan(network, choice, theta, cpu, gpu,
                    fallback ? std::vector<GeometryChoice>{choice} : std::vector<GeometryChoice>());
}

Plan mixed_plan(const Network& network, const GeometryChoice& choice, int theta, const DeviceSpec& cpu,
                const DeviceSpec& gpu, const std::vector<GeometryChoice>& fallbacks) {
  Random random(3);
  const Catalogue catalogue = split_catalogue();
  Plan plan = hand_plan(network, fallbacks, catalogue, cpu, random).value();
  for (Rung& rung : plan.ladder) rung.seconds = 1;
  Rung split = split_rung(network, choice, theta, 1, cpu, gpu).value();
  const SpaceBytes bytes = pipeline_bytes(take_apart(network, split, catalogue, {cpu, gpu}).value());
  split.memory = {plan.memory.weights, 0, bytes.host + bytes.pinned};
  split.seconds = 1e-6;
  plan.memory.transient += split.memory.transient;
  plan.ladder.insert(plan.ladder.begin(), std::move(split));
  return plan;
}

GeometryChoice split_choice(const Network& network, Random& random, std::int64_t S) {
  for (;;) {
    GeometryChoice choice = random_choice(network, random, S, 1);
    choice.stem_slab = 0;
    const Result<Geometry> geometry = make_geometry(network, choice);
    if (geometry && geometry->held.empty()) return choice;
  }
}

std::optional<GeometryChoice> split_stream(const Network& network, Random& random) {
  for (int attempt = 0; attempt < 12; ++attempt) {
    std::optional<GeometryChoice> choice = random_stream(network, random);
    if (!choice) continue;
    choice->stem_slab = 0;
    const Result<Geometry> geometry = make_geometry(network, *choice);
    if (geometry && geometry->held.empty()) return choice;
  }
  return std::nullopt;
}

}  // namespace znni::test
