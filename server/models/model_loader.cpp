#include "server/models/model_loader.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "planner/base/fingerprint.hpp"
#include "planner/base/text_table.hpp"
#include "proto/convert/text/plan_text.hpp"

namespace znni {
namespace {

// A predicted pass up to this long is worth a run at start.
constexpr Seconds quick_start = 2.0;

// Memory is touched in parts that take less than a tenth of a second, even where the system is slow at it; pages that
// are there already take next to nothing, so that a turn on the device takes as many parts as that.
constexpr std::int64_t part_bytes = std::int64_t{64} << 20;
constexpr std::chrono::milliseconds turn_length{100};

// Returns all memory but that of the smallest rung, in parts.
std::vector<ByteRange> parts_left(const Engine& engine) {
  const ByteRange touched = engine.memory_of(engine.plan().ladder.size() - 1);
  const std::int64_t end = engine.memory().bytes;
  std::vector<ByteRange> parts;
  const auto cut = [&parts](std::int64_t first, std::int64_t last) {
    for (; first < last; first += part_bytes) parts.push_back({first, std::min(part_bytes, last - first)});
  };
  cut(0, touched.first);
  cut(touched.first + touched.bytes, end);
  return parts;
}

// Touches as many parts as one turn has time for, at least one; removes them from `parts` and returns the time it took.
Result<Seconds> touch_for_a_turn(Engine& engine, std::span<const ByteRange>& parts, const std::stop_token& stop) {
  const auto end = std::chrono::steady_clock::now() + turn_length;
  Seconds seconds = 0;
  do {
    const Result<Seconds> touched = engine.touch_memory(parts.front(), stop);
    if (!touched) return touched;
    seconds += *touched;
    parts = parts.subspan(1);
  } while (!parts.empty() && std::chrono::steady_clock::now() < end);
  return seconds;
}

// Returns whether the planned rung is still to run once, because no job has run on it and it is not the smallest, which
// ran at start. One that is predicted to be slow is not worth that.
bool needs_first_run(const Engine& engine) {
  const std::vector<Rung>& ladder = engine.plan().ladder;
  return ladder.size() > 1 && !engine.has_run(0) && ladder.front().seconds <= quick_start;
}

Result<void> run_planned(Engine& engine, const std::stop_token& stop) {
  Result<void> ran = engine.warm_up(0, stop);
  return ran ? ran : ran.error().within("first run");
}

// Returns the primitives of the planned rung, each once, in order.
std::string primitives_of(const Rung& rung) {
  std::vector<std::string> names;
  for (const Segment& segment : rung.segments) {
    for (const Step& step : segment.steps) {
      const bool known = std::find(names.begin(), names.end(), step.primitive) != names.end();
      if (!known && !step.primitive.empty()) names.push_back(step.primitive);
    }
  }
  std::string text;
  for (const std::string& name : names) text += ", " + name;
  return text;
}

void tell_loss(const LoadedModel& model, const LogSink& log) {
  const std::optional<std::string> lost = model.engine->gpu_lost();
  if (!lost) return;
  log_to(log, "error",
         "network '" + model.planned.network.name + "': the CPU takes over, for the GPU failed: " + *lost);
}

void add_blend(const WindowBlend& blend, Fingerprint& print) {
  const double numbers[] = {blend.overlap, blend.weight == WindowWeight::gaussian ? 1.0 : 0.0};
  print.add(std::as_bytes(std::span(numbers)));
}

// Returns the fingerprint of what a model computes: that decides its voxels but for their rounding.
Fingerprint fingerprint_of(const ModelFiles& files) {
  Fingerprint print;
  for (const std::string& node : describe(files.network)) print.add(node);
  for (const NodeWeights& node : files.weights) {
    for (const std::vector<float>* values : {&node.kernels, &node.bias, &node.scale, &node.shift}) {
      print.add(std::as_bytes(std::span(*values)));
    }
  }
  const float rule[] = {files.input.normalisation.scale, files.input.normalisation.offset,
                        files.input.zscore ? 1.0F : 0.0F};
  print.add(std::as_bytes(std::span(rule)));
  if (const std::optional<float>& instead = files.input.normalisation.instead) {
    print.add(std::as_bytes(std::span(&*instead, 1)));
  }
  if (is_tile_bound(files.network)) add_blend(files.blend, print);
  return print;
}

// Returns the text of a fingerprint once the plan, which decides how voxels are rounded, is added.
std::string identity_of(Fingerprint print, const Plan& plan) {
  print.add(plan_text(plan));
  return print.text();
}

}  // namespace

Result<PlannedModel> plan_model(const ModelEntry& entry, std::int64_t memory, const PlanContext& context,
                                const std::stop_token& stop) {
  if (context.progress != nullptr) context.progress->begin("reading its files");
  Result<ModelFiles> files = read_model_files(entry, context.log, memory);
  if (!files) return files.error();
  Result<Plan> plan = find_or_make_plan(entry, files->network, memory, context, stop);
  if (!plan) return plan.error().within("planning within " + bytes_text(memory));
  const Fingerprint print = fingerprint_of(*files);
  const std::string identity = identity_of(print, *plan);
  return PlannedModel{std::move(files->network),
                      std::move(files->weights),
                      files->input,
                      files->blend,
                      std::move(*plan),
                      print.text(),
                      identity};
}

Result<std::unique_ptr<LoadedModel>> open_model(PlannedModel planned, const Catalogue& catalogue,
                                                const PlaceDevices& devices, const LogSink& log,
                                                const std::stop_token& stop) {
  auto model = std::make_unique<LoadedModel>();
  model->planned = std::move(planned);
  const PlannedModel& from = model->planned;
  Result<std::unique_ptr<Engine>> engine = Engine::open(from.network, from.weights, from.plan, catalogue, devices);
  if (!engine) return engine.error();
  model->engine = std::move(*engine);
  model->engine->blend_windows(from.blend);
  const std::size_t smallest = model->engine->plan().ladder.size() - 1;
  const Result<Seconds> touched = model->engine->touch_memory(model->engine->memory_of(smallest), stop);
  if (!touched) return touched.error();
  if (Result<void> ran = model->engine->warm_up(smallest, stop); !ran) return ran.error().within("first run");
  model->engine->touched_from(smallest);
  tell_loss(*model, log);
  return model;
}

Result<void> finish_model(LoadedModel& model, const InTurn& in_turn, const InTurn& if_idle, const LogSink& log,
                          const std::stop_token& stop) {
  Engine& engine = *model.engine;
  Seconds seconds = 0;
  const std::vector<ByteRange> parts = parts_left(engine);
  for (std::span<const ByteRange> left = parts; !left.empty();) {
    const Result<void> done = in_turn([&]() -> Result<void> {
      const Result<Seconds> touched = touch_for_a_turn(engine, left, stop);
      if (touched) seconds += *touched;
      return touched ? Result<void>() : touched.error();
    });
    if (!done) return done;
  }
  engine.touched_from(0);
  const bool was_lost = engine.gpu_lost().has_value();
  if (needs_first_run(engine)) {
    if (Result<void> ran = if_idle([&] { return run_planned(engine, stop); }); !ran) return ran;
  }
  if (!was_lost) tell_loss(model, log);
  log_to(log, "info",
         "network '" + model.planned.network.name + "': touched " + bytes_text(untouched_bytes(model)) + " in " +
             seconds_text(seconds));
  return {};
}

std::int64_t untouched_bytes(const LoadedModel& model) {
  std::int64_t bytes = 0;
  for (const ByteRange& part : parts_left(*model.engine)) bytes += part.bytes;
  return bytes * model.engine->plan().sockets;
}

std::string plan_summary(const Plan& plan, const Vec3& patch) {
  std::array<char, 64> speed{};
  const char* const where = plan.key.of_unknown_volume ? "" : " in an endless volume";
  std::snprintf(speed.data(), speed.size(), ": %.3g voxels/s%s (", endless_rate(plan.predicted), where);
  const std::int64_t S = plan.ladder.front().geometry.S;
  const Precision precision = plan.key.precision;
  const std::string coarse = precision == Precision::fp32 ? "" : ", up to " + std::string(to_string(precision));
  return "patch " + to_string(patch) + (S > 1 ? ", S " + std::to_string(S) : "") + ", " +
         std::to_string(plan.ladder.size()) + " rungs" + coarse + primitives_of(plan.ladder.front()) + speed.data() +
         std::string(to_string(plan.predicted.basis)) + ")";
}

}  // namespace znni
