#include "tests/bench/steps/call_run.hpp"

#include <chrono>
#include <utility>

#include "primitives/core/clock_time.hpp"
#include "primitives/core/index.hpp"
#include "tests/bench/layers/gradient_samples.hpp"

namespace znni::bench {
namespace {

// Returns the call's buffers with persistent ones alive in all of its stages.
MemoryPlan in_stages(MemoryPlan memory) {
  const int last = stage_count(memory) - 1;
  for (Buffer& buffer : memory) {
    if (buffer.lifetime.persistent) buffer.lifetime = Lifetime::stages(0, last);
  }
  return memory;
}

std::vector<Shape5> read_shapes(const StepProblem& problem) {
  if (const auto* layer = std::get_if<LayerProblem>(&problem)) return {input_shape(*layer, 0)};
  const auto& gradient = std::get<GradientProblem>(problem);
  std::vector<Shape5> shapes = {output_shape(gradient.layer)};
  if (saved_value(gradient) != SavedValue::none) shapes.push_back(saved_shape(gradient));
  if (reads_result(gradient)) shapes.push_back(output_shape(gradient.layer));
  return shapes;
}

// Returns the name of the buffer of the gradients of the weights; none if the call writes none.
std::string_view weights_buffer(const StepProblem& problem) {
  const auto* gradient = std::get_if<GradientProblem>(&problem);
  if (gradient == nullptr || gradient->of == GradientOf::input) return {};
  return gradient->of == GradientOf::weights ? gradient_name : weights_gradient_name;
}

}  // namespace

std::int64_t CallRun::bytes_of(const StepCall& call) { return pack(in_stages(call.estimate.memory)).bytes; }

Result<std::unique_ptr<CallRun>> CallRun::make(const StepCall& call, const LayerParameters& parameters,
                                               const Reservation& block, Device& device) {
  ensure(block.bytes() >= bytes_of(call), "the block is too small for the call");
  std::unique_ptr<CallRun> run(new CallRun(call, parameters, device));
  run->lay_out(block);
  if (persistent_bytes(call.estimate.memory) > 0) return run;
  if (Result<void> done = run->prepare(); !done) return done.error();
  return run;
}

void CallRun::lay_out(const Reservation& block) {
  const MemoryPlan& memory = call_.estimate.memory;
  const Packing packing = pack(in_stages(memory));
  const std::vector<Shape5> shapes = read_shapes(call_.problem);
  reads_.resize(shapes.size());
  std::vector<Placement> placements;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    std::byte* const data = block.data() + packing.offsets[i];
    placements.push_back({memory[i], data});
    auto* const floats = reinterpret_cast<float*>(data);
    if (const int input = input_number(memory[i].name, shapes.size()); input >= 0) {
      reads_[index(input)] =
          dense_view(floats, shapes[index(input)], read_format(call_.problem, input, call_.estimate));
    }
    if (memory[i].name == output_name) result_ = dense_view(floats, result_shape(call_.problem), call_.estimate.out);
    if (memory[i].name != weights_buffer(call_.problem)) continue;
    weights_ = dense_view(floats, weights_shape(std::get<GradientProblem>(call_.problem).layer));
    bias_ = {floats + elements(weights_.shape), static_cast<std::size_t>(weights_.shape.S)};
  }
  arena_ = std::make_unique<Arena>(std::move(placements));
}

void CallRun::fill() {
  for (const TensorView& view : reads_) fill_input(view, device_.executor());
}

Result<void> CallRun::prepare() {
  const LayerWeights weights = parameters_.view();
  if (call_.layer != nullptr) {
    const auto& problem = std::get<LayerProblem>(call_.problem);
    Result<std::unique_ptr<PreparedLayer>> layer =
        call_.layer->prepare(problem, call_.estimate, weights, *arena_, device_);
    if (!layer) return layer.error().within(call_.layer->name);
    layer_ = std::move(*layer);
    return {};
  }
  const auto& problem = std::get<GradientProblem>(call_.problem);
  Result<std::unique_ptr<PreparedGradient>> gradient =
      call_.gradient->prepare(problem, call_.estimate, weights, *arena_, device_);
  if (!gradient) return gradient.error().within(call_.gradient->name);
  gradient_ = std::move(*gradient);
  return {};
}

Result<Seconds> CallRun::run() {
  const auto start = std::chrono::steady_clock::now();
  arena_->begin();
  if (persistent_bytes(call_.estimate.memory) > 0) {
    if (Result<void> done = prepare(); !done) return done.error();
  }
  Result<void> done = run_prepared();
  const Seconds taken = seconds_since(start);
  if (!done) return done.error();
  return taken;
}

Result<void> CallRun::run_prepared() {
  if (layer_ != nullptr) return layer_->run(reads_, result_, *arena_);
  // What there is none of is not used.
  const TensorView& saved = reads_.size() > 1 ? reads_[1] : reads_.front();
  return gradient_->run({reads_.front(), saved, result_, bias_, weights_, reads_.back()}, *arena_);
}

}  // namespace znni::bench
