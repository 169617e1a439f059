#include "server/conv/work_run.hpp"

#include <memory>

#include "primitives/core/index.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

class Run {
 public:
  Run(const WorkPlan& plan, const LayerWeights& weights, const WorkTensors& tensors, Device& device)
      : plan_(plan), weights_(weights), tensors_(tensors), device_(device) {}

  Result<void> run(const StepCall& call, Arena& arena) const {
    arena.begin();
    return call.layer != nullptr ? run_layer(call, arena) : run_gradient(call, arena);
  }

  [[nodiscard]] std::vector<Placement> placements(const StepCall& call) const {
    std::vector<Placement> placements;
    for (std::size_t i = 0; i < call.buffers.size(); ++i) {
      placements.push_back({call.estimate.memory[i], place(call.buffers[i])});
    }
    return placements;
  }

 private:
  // Returns where a buffer of the workspace lies; nullptr for those of the caller, which no arena grants.
  [[nodiscard]] std::byte* place(int buffer) const {
    const std::int64_t offset = buffer < 0 ? -1 : plan_.packing.offsets[index(buffer)];
    return offset < 0 ? nullptr : tensors_.workspace.data() + offset;
  }

  [[nodiscard]] TensorView view(int tensor) const {
    const PlacedTensor& own = plan_.tensors[index(tensor)];
    auto* data = reinterpret_cast<float*>(place(own.buffer));
    // Views are of elements that may be written; what a call reads it does not write.
    if (tensor < plan_.reads) data = const_cast<float*>(tensors_.reads[index(tensor)]);
    if (tensor == plan_.writes) data = tensors_.written;
    return dense_view(data, own.shape, own.format);
  }

  Result<void> run_layer(const StepCall& call, Arena& arena) const {
    const auto& problem = std::get<LayerProblem>(call.problem);
    Result<std::unique_ptr<PreparedLayer>> layer =
        call.layer->prepare(problem, call.estimate, weights_, arena, device_);
    if (!layer) return layer.error().within(call.layer->name);
    std::vector<TensorView> inputs;
    for (const int tensor : call.reads) inputs.push_back(view(tensor));
    return (*layer)->run(inputs, view(call.writes), arena);
  }

  Result<void> run_gradient(const StepCall& call, Arena& arena) const {
    const auto& problem = std::get<GradientProblem>(call.problem);
    Result<std::unique_ptr<PreparedGradient>> gradient =
        call.gradient->prepare(problem, call.estimate, weights_, arena, device_);
    if (!gradient) return gradient.error().within(call.gradient->name);
    GradientViews views;
    views.output = view(call.reads.front());
    if (call.reads.size() > 1) views.saved = view(call.reads[1]);
    if (call.reads.size() > 2) views.result = view(call.reads[2]);
    views.gradient = call.writes >= 0 ? view(call.writes) : dense_view(tensors_.written, gradient_shape(problem));
    views.bias = tensors_.bias;
    return (*gradient)->run(views, arena);
  }

  const WorkPlan& plan_;
  const LayerWeights& weights_;
  const WorkTensors& tensors_;
  Device& device_;
};

Result<void> check_workspace(const WorkPlan& plan, std::span<std::byte> workspace) {
  if (static_cast<std::int64_t>(workspace.size()) < plan.packing.bytes) {
    return invalid_argument("the workspace has " + bytes_text(static_cast<std::int64_t>(workspace.size())) + "; " +
                            bytes_text(plan.packing.bytes) + " are needed");
  }
  if (reinterpret_cast<std::uintptr_t>(workspace.data()) % buffer_alignment == 0) return {};
  return invalid_argument("the workspace does not begin at a multiple of " + std::to_string(buffer_alignment) +
                          " bytes");
}

}  // namespace

Result<void> run_work(const WorkPlan& plan, const LayerWeights& weights, const WorkTensors& tensors, Device& device,
                      bool poison, std::vector<std::int64_t>* high_water) {
  if (Result<void> fits = check_workspace(plan, tensors.workspace); !fits) return fits;
  const Run run(plan, weights, tensors, device);
  for (const StepCall& call : plan.calls) {
    Arena arena(run.placements(call), poison);
    if (Result<void> done = run.run(call, arena); !done) return done;
    if (high_water != nullptr) high_water->push_back(arena.high_water());
  }
  return {};
}

}  // namespace znni
