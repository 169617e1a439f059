#include "primitives/cuda/conv/cudnn_engines.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

namespace znni::cuda {
namespace {

constexpr std::int64_t max_notes = 32;
constexpr std::int64_t max_knobs = 64;
constexpr std::string_view knob_name = "knob ";

template <class T>
bool holds(std::span<const T> values, T value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<cudnnBackendNumericalNote_t> numerical_notes(const CudnnDescriptor& engine) {
  return engine.values<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                    max_notes);
}

bool takes_matrix_units(const CudnnDescriptor& engine) {
  const auto notes = numerical_notes(engine);
  return std::find(notes.begin(), notes.end(), CUDNN_NUMERICAL_NOTE_TENSOR_CORE) != notes.end();
}

bool acceptable(const CudnnDescriptor& engine, Precision precision) {
  const auto behaviour =
      engine.values<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, max_notes);
  return is_acceptable(numerical_notes(engine), behaviour, precision);
}

// Makes an engine for a device: a description, or the handle that its graph has.
Result<CudnnDescriptor> make_engine(const CudnnGraph& graph, std::int64_t index, const CudnnDescriptor* device) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR, "engine");
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.graph);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
  if (device != nullptr) engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *device);
  if (Result<void> made = engine.finalise(); !made) return made.error();
  return engine;
}

// Appends the descriptors of the choice's knobs to `parts`; their handles.
Result<std::vector<cudnnBackendDescriptor_t>> make_knobs(const EngineChoice& choice,
                                                         std::vector<CudnnDescriptor>& parts) {
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const auto& [type, value] : choice.knobs) {
    const auto knob_type = static_cast<cudnnBackendKnobType_t>(type);
    CudnnDescriptor knob(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, "knob");
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob_type);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
    if (Result<void> made = knob.finalise(); !made) return made.error();
    handles.push_back(knob.get());
    parts.push_back(std::move(knob));
  }
  return handles;
}

// Makes a plan, which `engine` must outlive.
Result<CudnnPlan> make_plan(const CudnnDescriptor& engine, const EngineChoice& choice, const CudnnDescriptor* device,
                            cudnnHandle_t handle) {
  CudnnPlan made;
  const auto knobs = make_knobs(choice, made.parts);
  if (!knobs) return knobs.error();
  CudnnDescriptor config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "engine configuration");
  config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (!knobs->empty()) config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, *knobs);
  if (Result<void> done = config.finalise(); !done) return done.error();
  made.plan = CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "execution plan");
  made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (device != nullptr) made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device);
  if (handle != nullptr) made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  if (Result<void> done = made.plan.finalise(); !done) return done.error();
  made.parts.push_back(std::move(config));
  return made;
}

// Returns `count` empty descriptors of `type`, which the library fills.
std::vector<CudnnDescriptor> empty_descriptors(cudnnBackendDescriptorType_t type, std::int64_t count) {
  std::vector<CudnnDescriptor> made;
  for (std::int64_t i = 0; i < count; ++i) made.emplace_back(type, "result");
  return made;
}

std::int64_t fill(const CudnnDescriptor& from, cudnnBackendAttributeName_t name, std::vector<CudnnDescriptor>& into) {
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const CudnnDescriptor& descriptor : into) handles.push_back(descriptor.get());
  std::int64_t count = 0;
  const cudnnStatus_t status =
      cudnnBackendGetAttribute(from.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               static_cast<std::int64_t>(handles.size()), &count, handles.data());
  return status == CUDNN_STATUS_SUCCESS ? std::min(count, static_cast<std::int64_t>(handles.size())) : 0;
}

// Returns the engine and knobs of a configuration that the heuristics gave.
EngineChoice choice_of(const CudnnDescriptor& config) {
  EngineChoice choice{-1, {}, 0, false};
  std::vector<CudnnDescriptor> engine = empty_descriptors(CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (fill(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine) != 1) return choice;
  choice.engine =
      engine[0].integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) ? *engine[0].integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) : -1;
  std::vector<CudnnDescriptor> knobs = empty_descriptors(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, max_knobs);
  const std::int64_t count = fill(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs);
  for (std::int64_t i = 0; i < count; ++i) {
    const CudnnDescriptor& knob = knobs[static_cast<std::size_t>(i)];
    const auto types = knob.values<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1);
    const Result<std::int64_t> value = knob.integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
    if (!types.empty() && value) choice.knobs.emplace_back(static_cast<std::int64_t>(types[0]), *value);
  }
  std::sort(choice.knobs.begin(), choice.knobs.end());
  return choice;
}

// Returns the engine configurations that the heuristics give.
std::vector<CudnnDescriptor> favourites(const CudnnGraph& graph, const CudnnDescriptor& device,
                                        cudnnBackendHeurMode_t mode, std::int64_t most) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "heuristics");
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  if (!heuristics.finalise()) return {};
  std::vector<CudnnDescriptor> configs = empty_descriptors(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, most);
  const std::int64_t count = fill(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, configs);
  configs.resize(static_cast<std::size_t>(count));
  return configs;
}

class Offer {
 public:
  Offer(const CudnnGraph& graph, const CudnnDescriptor& device, Precision precision, std::size_t most)
      : graph_(graph), device_(device), precision_(precision), most_(most) {}

  // Appends the choice where it is acceptable, new, and the library plans it.
  void consider(EngineChoice choice) {
    if (full() || choice.engine < 0) return;
    const CudnnDescriptor* const engine = find_engine(choice.engine);
    if (engine == nullptr) return;
    choice.matrix_units = takes_matrix_units(*engine);
    const Result<CudnnPlan> plan = make_plan(*engine, choice, &device_, nullptr);
    if (!plan) return;
    const Result<std::int64_t> bytes = workspace_of(plan->plan);
    if (!bytes) return;
    choice.workspace_bytes = *bytes;
    if (std::find(choices.begin(), choices.end(), choice) == choices.end()) choices.push_back(std::move(choice));
  }
  [[nodiscard]] bool has(std::int64_t engine) const {
    return std::any_of(choices.begin(), choices.end(), [&](const EngineChoice& c) { return c.engine == engine; });
  }
  [[nodiscard]] bool has_matrix_units() const {
    return std::any_of(choices.begin(), choices.end(), [](const EngineChoice& c) { return c.matrix_units; });
  }
  [[nodiscard]] bool full() const { return choices.size() >= most_; }

  std::vector<EngineChoice> choices;

 private:
  // Returns the engine of that index; nullptr if the library does not take it here, or it is not acceptable. The
  // favourites are a few engines, set up in many ways.
  const CudnnDescriptor* find_engine(std::int64_t index) {
    const auto [found, is_new] = engines_.try_emplace(index);
    if (is_new) {
      Result<CudnnDescriptor> engine = make_engine(graph_, index, &device_);
      if (engine && acceptable(*engine, precision_)) found->second = *std::move(engine);
    }
    return found->second ? &*found->second : nullptr;
  }

  const CudnnGraph& graph_;
  const CudnnDescriptor& device_;
  Precision precision_;
  std::size_t most_;
  std::map<std::int64_t, std::optional<CudnnDescriptor>> engines_;  // that were asked for
};

}  // namespace

// Transforms spread errors over tiles that nothing tells.
bool is_acceptable(std::span<const cudnnBackendNumericalNote_t> numerical,
                   std::span<const cudnnBackendBehaviorNote_t> behaviour, Precision precision) {
  if (holds(behaviour, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)) return false;
  for (const auto note :
       {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
        CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_FFT}) {
    if (holds(numerical, note)) return false;
  }
  return precision != Precision::fp32 || !holds(numerical, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

Variant to_variant(const EngineChoice& choice) {
  Variant variant = {{"engine", choice.engine}};
  for (const auto& [type, value] : choice.knobs) {
    variant.push_back({std::string(knob_name) + std::to_string(type), value});
  }
  return variant;
}

EngineChoice from_variant(const Variant& variant) {
  EngineChoice choice;
  choice.engine = setting(variant, "engine", -1);
  for (const Setting& one : variant) {
    if (!one.name.starts_with(knob_name)) continue;
    choice.knobs.emplace_back(std::stoll(one.name.substr(knob_name.size())), one.value);
  }
  return choice;
}

std::vector<EngineChoice> offered_engines(const CudnnGraph& graph, const CudnnDescriptor& device, Precision precision,
                                          std::size_t most) {
  constexpr std::int64_t max_favourites = 64;
  Offer offer(graph, device, precision, most);
  std::vector<EngineChoice> ranked;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const CudnnDescriptor& config : favourites(graph, device, mode, max_favourites)) {
      ranked.push_back(choice_of(config));
    }
  }
  // The library ranks one engine in many settings before the next one.
  for (const bool again : {false, true}) {
    for (const EngineChoice& choice : ranked) {
      if (again || !offer.has(choice.engine)) offer.consider(choice);
    }
  }
  // Asking for every engine by index is slow, so only where the heuristics know none of the units that were meant.
  if (precision == Precision::fp32 ? !offer.choices.empty() : offer.has_matrix_units()) {
    return std::move(offer.choices);
  }
  const Result<std::int64_t> count = graph.graph.integer(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
  for (std::int64_t engine = 0; count && engine < *count && !offer.full(); ++engine) {
    if (!offer.has(engine)) offer.consider({engine, {}, 0, false});
  }
  return std::move(offer.choices);
}

Result<CudnnPlan> make_plan(const CudnnGraph& graph, const EngineChoice& choice, Precision precision,
                            cudnnHandle_t handle) {
  Result<CudnnDescriptor> engine = make_engine(graph, choice.engine, nullptr);
  if (!engine) return engine.error();
  if (!acceptable(*engine, precision)) {
    return Error{ErrorCode::unsupported, "engine " + std::to_string(choice.engine) + " of cuDNN " +
                                             std::to_string(cudnnGetVersion()) +
                                             " rounds more than was planned; plan again with this release"};
  }
  Result<CudnnPlan> made = make_plan(*engine, choice, nullptr, handle);
  if (made) made->parts.push_back(*std::move(engine));
  return made;
}

Result<std::int64_t> workspace_of(const CudnnDescriptor& plan) {
  return plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
}

}  // namespace znni::cuda
