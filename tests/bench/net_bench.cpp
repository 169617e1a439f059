#include "tests/bench/net_bench.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "planner/base/text_table.hpp"
#include "planner/plan/pairs.hpp"
#include "planner/report/report.hpp"
#include "server/pipeline/engine.hpp"
#include "tests/bench/energy.hpp"
#include "tests/bench/layers/layer_work.hpp"
#include "tests/bench/median.hpp"

namespace znni::bench {
namespace {

constexpr std::uint64_t weight_seed = 1;
constexpr std::uint64_t volume_seed = 2;

// Returns the plan with its first rung alone, so that the engine has no other choice.
Plan first_rung(const Network& network, Plan plan) {
  plan.ladder.resize(1);
  const MemoryUse& one = plan.ladder[0].memory;
  plan.memory = {weight_bytes(network), mul(plan.sockets, one.persistent), mul(plan.sockets, one.transient)};
  return plan;
}

// Returns the axis of a volume along which the patches of the sockets lie side by side. Columns form one row.
int axis_of_sockets(const GeometryChoice& choice) {
  if (!choice.streamed) return 0;
  return choice.axis == 0 ? 1 : 3 - choice.axis;
}

// A volume for one run, with room for its dense output. For each socket it holds exactly S patches, one above the
// other, or the planes that the first full step of a stream needs in each of its phases.
class Volumes {
 public:
  Volumes(const Engine& engine, const PlanReport& report, Vec3 frame) {
    // The engine adds the frame.
    input_ = {report.input.f, report.input.n - frame, ElementType::f32, VolumeOrder::channel_major};
    input_.n.z = engine.field_of_view().z - 1 + report.input.S * report.output.n.z;
    const int axis = axis_of_sockets(report.geometry.choice);
    const std::int64_t more = engine.plan().sockets - 1;
    input_.n[axis] += more * (input_.n[axis] - engine.field_of_view()[axis] + 1);
    output_ = {report.output.f, input_.n - engine.field_of_view() + Vec3::cube(1), ElementType::f32,
               VolumeOrder::plane_major};
    std::minstd_rand random(volume_seed);
    in_.resize(static_cast<std::size_t>(input_.f * znni::voxels(input_.n)));
    for (float& voxel : in_) voxel = static_cast<float>(random() % 4096) / 4096.0F;
    out_.resize(static_cast<std::size_t>(output_.f * znni::voxels(output_.n)));
  }

  [[nodiscard]] double voxels() const { return static_cast<double>(znni::voxels(output_.n)); }
  [[nodiscard]] const VolumeShape& input() const { return input_; }
  [[nodiscard]] VolumeJob job() {
    VolumeJob job;
    job.input.volume = {reinterpret_cast<const std::byte*>(in_.data()), input_};
    job.sink.slab = [this](std::int64_t first_plane, std::int64_t planes) -> Result<OutputSlab> {
      OutputSlab slab{first_plane, reinterpret_cast<std::byte*>(out_.data() + first_plane * plane_stride(output_)),
                      output_};
      slab.shape.n.z = planes;
      return slab;
    };
    job.sink.deliver = [](const OutputSlab&) { return Result<void>(); };
    job.schedule.whole_steps = true;  // as predicted
    return job;
  }

 private:
  VolumeShape input_;
  VolumeShape output_;
  std::vector<float> in_;
  std::vector<float> out_;
};

NetTimes describe(const LoadedNetwork& loaded, const Plan& plan, const PlanReport& report) {
  NetTimes times;
  times.network = loaded.network.name;
  times.seeded_weights = loaded.weights.empty();
  times.patch = report.geometry.patch_input;
  times.S = report.input.S;
  times.passes = static_cast<std::int64_t>(pass_count(report.geometry));
  times.memory = plan.memory;
  times.basis = plan.predicted.basis;
  times.predicted = plan.ladder[0].seconds;
  times.planned = plan.predicted;
  for (const NodeReport& node : report.nodes) {
    const Step& step = *node.step;
    if (is_joined(step) && step.reorder.empty()) continue;  // its time is counted for the node before it
    const bool reorders_only = step.primitive.empty();
    const std::int64_t runs = runs_of(report.geometry, node.node);
    const std::string problem =
        reorders_only ? "" : to_string(report.geometry.problems[static_cast<std::size_t>(node.node)]);
    times.nodes.push_back({node.node, node.name, problem, reorders_only ? step.reorder : step.primitive, step.basis,
                           static_cast<double>(runs) * step.seconds, step.error, 0});
  }
  return times;
}

// Does the cold run, then the warm ones. Keeps the seconds of each warm run per node.
class Runs {
 public:
  Runs(Engine& engine, Volumes& volumes, const NetWork& work) : engine_(engine), volumes_(volumes), work_(work) {
    engine_.observe([this](const CallTime& call) { now_[call.node] += call.seconds; });
  }
  ~Runs() { engine_.observe({}); }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  Result<void> run(NetTimes& times) {
    steps_ = static_cast<double>(times.steps);
    sockets_ = engine_.plan().sockets;
    const Result<Seconds> cold = once("cold run, predicted " + seconds_text(times.predicted));
    if (!cold) return cold.error();
    times.cold = *cold;
    for (int i = 1; i <= work_.repetitions; ++i) {
      energy_.start();
      const Seconds before = processor_seconds();
      const Result<Seconds> warm = once("warm run " + std::to_string(i) + " of " + std::to_string(work_.repetitions));
      if (!warm) return warm.error();
      if (const std::optional<double> joules = energy_.stop()) joules_.push_back(*joules);
      times.warm.push_back(*warm);
      times.processor.push_back((processor_seconds() - before) / steps_);
      Seconds rest = *warm;
      for (const auto& [node, seconds] : now_) {
        kept_[node].push_back(seconds);
        rest -= seconds;
      }
      rest_.push_back(rest);
    }
    add_nodes(times);
    return {};
  }

 private:
  Result<Seconds> once(const std::string& what) {
    if (work_.progress) work_.progress(what);
    now_.clear();
    const Result<JobStatistics> done = engine_.run(volumes_.job(), work_.stop);
    if (!done) return done.error();
    for (auto& [node, seconds] : now_) seconds /= steps_ * sockets_;
    return done->seconds / steps_;
  }

  void add_nodes(NetTimes& times) {
    times.rest = median(rest_);
    if (!joules_.empty()) times.joules = median(joules_);
    for (NodeTimes& node : times.nodes) {
      const auto found = kept_.find(node.node);
      if (found == kept_.end()) continue;  // a step without a call: the input is not reordered
      node.measured = median(found->second);
    }
  }

  Engine& engine_;
  Volumes& volumes_;
  const NetWork& work_;
  double steps_ = 1;
  double sockets_ = 1;
  std::map<int, Seconds> now_;
  std::map<int, std::vector<Seconds>> kept_;
  std::vector<Seconds> rest_;
  EnergyMeter energy_;
  std::vector<double> joules_;
};

}  // namespace

Result<Plan> rung_within(const Network& network, Plan plan, Seconds limit) {
  const auto fits = [limit](const Rung& rung) { return rung.seconds <= limit; };
  const auto found = std::find_if(plan.ladder.begin(), plan.ladder.end(), fits);
  if (found == plan.ladder.end()) {
    return Error{ErrorCode::invalid_argument, "--limit " + seconds_text(limit) +
                                                  ": the smallest patch of the plan takes " +
                                                  seconds_text(plan.ladder.back().seconds)};
  }
  plan.ladder.erase(plan.ladder.begin(), found);
  return first_rung(network, std::move(plan));
}

Result<NetTimes> run_net(const LoadedNetwork& loaded, const Plan& whole, const NetWork& work) {
  const Network& network = loaded.network;
  const Plan plan = first_rung(network, whole);
  const Result<PlanReport> report = make_report(network, plan, *work.catalogue, work.device->spec());
  if (!report) return report.error();
  NetTimes times = describe(loaded, plan, *report);
  if (work.progress) work.progress("preparing " + bytes_text(plan.memory.total()));
  const NetworkWeights made = loaded.weights.empty() ? random_weights(network, weight_seed) : NetworkWeights();
  const NetworkWeights& weights = loaded.weights.empty() ? made : loaded.weights;
  const Result<std::unique_ptr<Engine>> engine = Engine::open(network, weights, plan, *work.catalogue, *work.device);
  if (!engine) return engine.error();
  const Result<Seconds> touched = (*engine)->touch_memory((*engine)->memory(), work.stop);
  if (!touched) return touched.error();
  times.touched = *touched;
  times.reserved_bytes = add((*engine)->reserved_bytes(), plan.memory.weights);
  Volumes volumes(**engine, *report, network.frame.begin + network.frame.end);
  times.voxels = volumes.voxels() / static_cast<double>(report->geometry.phases);
  if (plan.ladder[0].geometry.streamed) {
    times.steps = (*engine)->estimate(volumes.input())->patches / plan.sockets;
  }
  if (Result<void> ran = Runs(**engine, volumes, work).run(times); !ran) return ran.error();
  return times;
}

}  // namespace znni::bench
