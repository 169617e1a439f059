#include "primitives/cpu/activate.hpp"

#include <cmath>

namespace znni::cpu {
namespace {

template <class Function>
void each(std::span<float> values, const Function& function) {
  for (float& value : values) value = function(value);
}

}  // namespace

void activate(Activation activation, std::span<float> values) {
  const float alpha = activation.alpha;
  switch (activation.kind) {
    case ActivationKind::none: return;
    case ActivationKind::relu: return each(values, [](float x) { return x > 0.0F ? x : 0.0F; });
    case ActivationKind::leaky_relu: return each(values, [=](float x) { return x < 0.0F ? alpha * x : x; });
    case ActivationKind::elu: return each(values, [=](float x) { return x < 0.0F ? alpha * std::expm1(x) : x; });
    case ActivationKind::sigmoid: return each(values, [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
    case ActivationKind::tanh: return each(values, [](float x) { return std::tanh(x); });
  }
}

void accumulate(std::span<const float> from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

void clear_lanes(std::span<float> values, std::int64_t first, std::int64_t width) {
  if (first >= width) return;
  for (std::size_t voxel = 0; voxel < values.size(); voxel += static_cast<std::size_t>(width)) {
    for (std::int64_t lane = first; lane < width; ++lane) values[voxel + static_cast<std::size_t>(lane)] = 0.0F;
  }
}

}  // namespace znni::cpu
