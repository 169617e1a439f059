#include "planner/train/step_plan.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "planner/base/text_table.hpp"
#include "planner/train/recompute.hpp"
#include "planner/train/trainable.hpp"
#include "primitives/core/index.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

std::string axis_name(int axis) { return std::string(1, "zyx"[axis]); }

std::vector<PoolingMode> modes_of(const Network& network, bool sparse) {
  const PoolMode mode = sparse ? PoolMode::plain : PoolMode::fragments;
  return std::vector<PoolingMode>(pooling_nodes(network).size(), PoolingMode(mode));
}

Result<Geometry> geometry_of(const Network& network, Vec3 patch, bool sparse) {
  if (Result<void> legal = check_step_patch(network, patch, sparse); !legal) return legal.error();
  GeometryChoice choice{framed(network, patch), 1, modes_of(network, sparse)};
  choice.closed = padded_axes(network);
  return make_geometry(network, choice);
}

StepPlan plan_of(const StepLine& line, const StepPlan& frame) {
  StepPlan plan = frame;
  plan.calls = line.calls();
  plan.tensors = line.tensors();
  plan.memory = line.memory();
  plan.packing = pack(plan.memory);
  plan.bytes.step = plan.packing.bytes;
  plan.seconds = 0;
  for (const StepCall& call : plan.calls) plan.seconds += call.seconds;
  return plan;
}

void add_weights(const Network& network, StepPlan& plan) {
  for (const char* const of : {"weights", "gradients of the weights"}) {
    plan.memory.push_back({of, MemorySpace::host, weight_bytes(network), Lifetime::plan()});
    plan.packing.offsets.push_back(-1);
  }
}

Error too_little(const Vec3& patch, std::int64_t needs, std::int64_t mem) {
  return {ErrorCode::over_budget, "a step of patch " + to_string(patch) + " needs at least " + bytes_text(needs) +
                                      ", and " + bytes_text(mem) + " are left of --mem: take a smaller patch"};
}

// Returns the fastest choice whose buffers fit the limit as they are packed. Lifetimes that are not those of a chain
// may be packed with gaps; then the choices of smaller peaks follow.
std::optional<StepPlan> fastest_packed(StepSearch& search, const StepPlan& frame, std::int64_t limit) {
  std::optional<StepChoice> choice = search.best(limit);
  while (choice) {
    StepPlan plan = plan_of(search.line_of(*choice), frame);
    if (plan.bytes.step <= limit) return plan;
    choice = search.best(choice->peak - 1);
  }
  return std::nullopt;
}

// Chooses among the steps that compute nothing a second time, and, where the fastest of these does not fit, those that
// do.
class StepChooser {
 public:
  StepChooser(const StepGraph& graph, StepSearch& plain, const StepParts& parts, const StepPlan& frame)
      : graph_(graph), plain_(plain), parts_(parts), frame_(frame) {}

  // Returns the fastest step of up to `limit` bytes. Fails if none has so few, with the least.
  Result<StepPlan> choose(std::int64_t limit, std::int64_t mem) {
    const std::optional<StepChoice> smallest = plain_.smallest();
    if (!smallest) return refused("no formats suit the ways to compute the layers of the network");
    take(plan_of(plain_.line_of(*smallest), frame_), limit);
    if (std::optional<StepPlan> plan = fastest_packed(plain_, frame_, limit)) take(*std::move(plan), limit);
    const Seconds least = plain_.best(saturated)->seconds;
    if (!best_ || best_->seconds > least) try_recomputing(limit, least);
    if (best_) return *std::move(best_);
    return too_little(frame_.input.n, min_bytes_, mem);
  }

 private:
  // A step that is predicted to be faster than the fastest of those that compute nothing a second time is left out:
  // with more memory it would not be looked at.
  void try_recomputing(std::int64_t limit, Seconds least) {
    for (const std::set<int>& set : sets_to_recompute(graph_, plain_.min_seconds())) {
      const StepGraph graph = with_recomputed(graph_, set);
      Result<StepSearch> search = StepSearch::make(graph, parts_);
      const std::optional<StepChoice> smallest = search ? search->smallest() : std::nullopt;
      if (!smallest) continue;
      for (std::optional<StepPlan> plan :
           {std::optional(plan_of(search->line_of(*smallest), frame_)), fastest_packed(*search, frame_, limit)}) {
        if (plan && plan->seconds >= least) take(*std::move(plan), limit);
      }
    }
  }

  void take(StepPlan plan, std::int64_t limit) {
    min_bytes_ = std::min(min_bytes_, plan.bytes.total());
    if (plan.bytes.step <= limit && (!best_ || plan.seconds < best_->seconds)) best_ = std::move(plan);
  }

  const StepGraph& graph_;
  StepSearch& plain_;
  const StepParts& parts_;
  const StepPlan& frame_;
  std::optional<StepPlan> best_;
  std::int64_t min_bytes_ = saturated;
};

}  // namespace

Result<void> check_step_patch(const Network& network, Vec3 patch, bool sparse) {
  const Reach reach = reaches(network).back();
  const Vec3 frame = framed(network, {});
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t asked = patch[axis] + frame[axis];
    const std::int64_t step = std::max(reach.stride[axis], period(network)[axis]);
    const std::int64_t most = std::max(asked, min_extent(network)[axis] + step) + 2 * step;
    const std::vector<std::int64_t> legal = legal_extents(network, modes_of(network, sparse), axis, most);
    if (legal.empty()) return refused("network " + network.name + ": its poolings leave no legal patch");
    const auto above = std::lower_bound(legal.begin(), legal.end(), asked);
    if (above != legal.end() && *above == asked) continue;
    std::string right;
    if (above != legal.begin()) right = std::to_string(*(above - 1) - frame[axis]);
    if (above != legal.end()) right += (right.empty() ? "" : " or ") + std::to_string(*above - frame[axis]);
    return invalid_argument("patch." + axis_name(axis) + " = " + std::to_string(patch[axis]) +
                            " does not fit the windows and strides of network " + network.name + ": take " + right);
  }
  const Result<void> taken = check_volume(network, patch);
  return taken ? Result<void>() : taken.error().within("patch");
}

Result<StepPlan> plan_step(const Network& network, Vec3 patch, const StepOptions& options, const StepParts& parts) {
  if (Result<void> sound = check_trainable(network); !sound) return sound.error();
  Result<Geometry> geometry = geometry_of(network, patch, options.sparse);
  if (!geometry) return geometry.error();
  const StepGraph graph = make_step_graph(network, *geometry);
  Result<StepSearch> search = StepSearch::make(graph, parts);
  if (!search) return search.error();
  StepPlan frame;
  frame.nodes = describe(network);
  for (const Node& node : network.nodes) frame.names.push_back(node.name);
  frame.device = parts.device;
  for (const StepWork& work : graph.works) {
    if (const auto* loss = std::get_if<LossProblem>(&work.problem)) frame.output = loss->dense;
  }
  frame.input = {1, network.f_in, patch};
  frame.input_begin = network.frame.begin - geometry->read_begin;
  frame.geometry = std::move(*geometry);
  frame.bytes.weights = frame.bytes.gradients = weight_bytes(network);
  Result<StepPlan> plan =
      StepChooser(graph, *search, parts, frame).choose(options.mem - frame.bytes.total(), options.mem);
  if (plan) add_weights(network, *plan);
  return plan;
}

namespace {

// Returns what a call computes of its node: "layer", "reorder", "gradient of input 0", "... of the activation".
std::string work_text(const StepCall& call) {
  if (const auto* gradient = std::get_if<GradientProblem>(&call.problem)) {
    if (std::holds_alternative<ActivationProblem>(gradient->layer)) return "gradient of the activation";
    if (gradient->of == GradientOf::both) return "gradients of the weights and input 0";
    return "gradient of " + (gradient->of == GradientOf::weights ? "the weights" : input_name(gradient->input));
  }
  if (const auto* pad = std::get_if<PadProblem>(&call.problem)) {
    return pad->is_gradient ? "gradient of the padding" : "padding";
  }
  const auto* layer = std::get_if<LayerProblem>(&call.problem);
  if (layer == nullptr) return "loss";
  return std::holds_alternative<ReorderProblem>(*layer) ? "reorder" : "layer";
}

std::string primitive_text(const StepCall& call) {
  std::string text(call.layer != nullptr ? call.layer->name : call.gradient != nullptr ? call.gradient->name : "");
  if (!call.estimate.variant.empty()) text += " " + to_string(call.estimate.variant);
  return text;
}

// Returns the bytes alive in the largest of a call's stages.
std::int64_t alive(const StepPlan& plan, const StepCall& call) {
  std::int64_t most = 0;
  const int stages = stage_count(call.estimate.memory);
  for (int stage = call.first_stage; stage < call.first_stage + stages; ++stage) {
    std::int64_t sum = 0;
    for (const Buffer& buffer : plan.memory) {
      const Lifetime& life = buffer.lifetime;
      if (!life.persistent && life.first <= stage && stage <= life.last) sum = znni::add(sum, buffer.bytes);
    }
    most = std::max(most, sum);
  }
  return most;
}

std::int64_t bytes_of(const PlacedTensor& tensor) { return tensor_bytes(tensor.shape, tensor.format); }

// Returns the tensors that forward calls write and backward calls read, rising.
std::set<int> kept_tensors(const StepPlan& plan) {
  std::set<int> written = {0};
  std::set<int> kept;
  bool forward = true;
  for (const StepCall& call : plan.calls) {
    forward = forward && call.node >= 0;
    if (forward) written.insert(call.writes);
    for (const int tensor : call.reads) {
      if (!forward && call.node >= 0 && written.contains(tensor)) kept.insert(tensor);
    }
  }
  return kept;
}

std::string mebibytes(std::int64_t bytes) { return fixed_text(static_cast<double>(bytes) / (1 << 20), 1); }

std::string kept_text(const StepPlan& plan) {
  std::string text;
  for (const int tensor : kept_tensors(plan)) {
    const PlacedTensor& own = plan.tensors[index(tensor)];
    text += (text.empty() ? "" : ", ") + own.name + " " + mebibytes(bytes_of(own));
  }
  return text + " MiB";
}

}  // namespace

std::vector<std::string> describe(const StepPlan& plan) {
  std::vector<TextRow> rows = {{"pass", "node", "computes", "primitive", "ms", "MiB"}};
  bool forward = true;
  for (const StepCall& call : plan.calls) {
    forward = forward && call.node >= 0;
    const std::string pass = call.node < 0 ? "" : forward ? "forward" : call.is_recomputed ? "recompute" : "backward";
    rows.push_back({pass, call.node < 0 ? "" : plan.names[index(call.node)], work_text(call), primitive_text(call),
                    fixed_text(call.seconds * 1e3, 3), mebibytes(alive(plan, call))});
  }
  std::vector<std::string> lines;
  std::istringstream text(text_table(rows, ""));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  lines.push_back("kept for the backward run: " + kept_text(plan));
  lines.push_back("step: " + seconds_text(plan.seconds) + ", " + to_string(plan.input.n) + " -> " +
                  to_string(plan.output.n) + "; " + bytes_text(plan.bytes.total()) + ": weights " +
                  bytes_text(plan.bytes.weights) + ", their gradients " + bytes_text(plan.bytes.gradients) +
                  ", tensors and scratch " + bytes_text(plan.bytes.step));
  return lines;
}

}  // namespace znni
