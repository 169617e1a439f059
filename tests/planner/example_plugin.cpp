// A plug-in with one primitive, as short as it can be: `planner --plugin libznni_example.so` searches it beside the
// others. Built with the programs' compiler from the programs' tree; the one C function at the end is all that they
// look for.
#include <algorithm>
#include <array>

#include "primitives/core/modules.hpp"

namespace znni {
namespace {

class Relu final : public PreparedLayer {
 public:
  explicit Relu(Executor& executor) : executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& /*arena*/) override {
    const Shape5& shape = out.shape;
    executor_.parallel_for(shape.S * shape.f * shape.n.z, [&](std::int64_t index, int /*worker*/) {
      const std::int64_t plane = index % shape.n.z;
      const std::int64_t channel = index / shape.n.z;
      for (std::int64_t y = 0; y < shape.n.y; ++y) {
        const float* const from = &inputs[0].at(channel / shape.f, channel % shape.f, {plane, y, 0});
        float* const to = &out.at(channel / shape.f, channel % shape.f, {plane, y, 0});
        std::transform(from, from + shape.n.x, to, [](float x) { return std::max(x, 0.0F); });
      }
    });
    return {};
  }

 private:
  Executor& executor_;
};

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* activation = std::get_if<ActivationProblem>(&problem);
  if (activation == nullptr || activation->activation.kind != ActivationKind::relu) {
    return Error{ErrorCode::unsupported, "example.activation.relu computes nothing but relu"};
  }
  const auto bytes = static_cast<double>(tensor_bytes(activation->in, {}));
  return std::vector<Estimate>{{{}, {}, {}, 2 * bytes / spec.bytes_per_second, input_output_buffers(problem, {}, {})}};
}

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem&, const Estimate&, const LayerWeights&, Arena&,
                                               Device& device) {
  return std::unique_ptr<PreparedLayer>(std::make_unique<Relu>(device.executor()));
}

constexpr Primitive relu{"example.activation.relu", 1, DeviceKind::cpu, &describe, &prepare};

std::vector<DeviceSpec> probe() { return {}; }  // it brings no device: it runs on the CPU's
Result<std::unique_ptr<Device>> open(const DeviceSpec& spec, std::int64_t, std::int64_t, std::int64_t) {
  return Error{ErrorCode::unsupported, "the example has no device '" + spec.name + "'"};
}

const Backend* example() {
  static constexpr std::array<const Primitive*, 1> primitives = {&relu};
  static const Backend backend{"example", &probe, &open, primitives};
  return &backend;
}

}  // namespace
}  // namespace znni

extern "C" const znni::BackendModule* znni_backend_module() {
  static const znni::BackendModule module{.backend = &znni::example};
  return &module;
}
