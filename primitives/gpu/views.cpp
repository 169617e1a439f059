#include "primitives/gpu/views.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace znni::cuda {
namespace {

constexpr int vector_bytes = 16;

bool has_planar_layout(const TensorView& view) { return view.format.layout == Layout::planar; }

// Returns true if `width` divides all strides that are walked: an axis of extent 1 has none.
bool strides_divide(const TensorView& view, int width) {
  const Shape5& shape = view.shape;
  const std::array<std::pair<std::int64_t, std::int64_t>, 4> walked = {
      std::pair{shape.S, view.strides.S}, std::pair{shape.n.z, view.strides.z}, std::pair{shape.n.y, view.strides.y},
      has_planar_layout(view) ? std::pair{shape.f, view.strides.f} : std::pair{shape.n.x, view.strides.x}};
  for (const auto& [extent, stride] : walked) {
    if (extent > 1 && stride % width != 0) return false;
  }
  return true;
}

bool takes_vectors(const TensorView& view, int width) {
  const std::int64_t contiguous = has_planar_layout(view) ? view.shape.n.x : view.shape.f;
  const std::int64_t step = has_planar_layout(view) ? view.strides.x : view.strides.f;
  return contiguous % width == 0 && step == 1 && strides_divide(view, width) &&
         reinterpret_cast<std::uintptr_t>(view.data) % vector_bytes == 0;
}

}  // namespace

Storage storage_of(ElementType type) {
  switch (type) {
    case ElementType::f32: return Storage::f32;
    case ElementType::f16: return Storage::f16;
    case ElementType::bf16: return Storage::bf16;
    case ElementType::u8: return Storage::u8;
    case ElementType::u16: break;
  }
  ensure(false, "no kernel takes u16");
  return Storage::f32;
}

Act act_of(ActivationKind kind) { return static_cast<Act>(kind); }

Extent extent_of(Vec3 n) { return {n.z, n.y, n.x}; }

Steps steps_of(const Strides& strides) { return {strides.S, strides.f, strides.z, strides.y, strides.x}; }

Steps steps_of(const TensorView& view, int width) {
  const Strides& strides = view.strides;
  const bool is_planar = has_planar_layout(view);
  return {strides.S / width, is_planar ? strides.f / width : strides.f, strides.z / width, strides.y / width,
          is_planar ? strides.x : strides.x / width};
}

int vector_width(std::span<const TensorView> views) {
  const int width = vector_bytes / static_cast<int>(element_bytes(views.front().format.type));
  for (const TensorView& view : views) {
    if (!takes_vectors(view, width)) return 1;
  }
  return width;
}

RowShape rows_of(const TensorView& view, int width) {
  const Shape5& shape = view.shape;
  if (has_planar_layout(view)) return {shape.S, shape.f, shape.n.z, shape.n.y, 1, static_cast<int>(shape.n.x / width)};
  return {shape.S, 1, shape.n.z, shape.n.y, static_cast<int>(shape.n.x), static_cast<int>(shape.f / width)};
}

RowSteps row_steps_of(const TensorView& view, int width) {
  const Steps steps = steps_of(view, width);
  if (has_planar_layout(view)) return {steps.S, steps.f, steps.z, steps.y, 0, steps.x};
  return {steps.S, 0, steps.z, steps.y, steps.x, steps.f};
}

ElementwiseArg elementwise_arg(std::span<const TensorView> inputs, const TensorView& out, Activation activation) {
  ensure(!inputs.empty() && inputs.size() <= max_inputs, "elementwise kernels take one to eight inputs");
  const std::array<TensorView, 1> outputs = {out};
  const int width = std::min(vector_width(inputs), vector_width(outputs));
  ElementwiseArg arg;
  arg.rows = rows_of(out, width);
  arg.planar = has_planar_layout(out);
  arg.width = width;
  arg.inputs = static_cast<int>(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    arg.in[i] = inputs[i].data;
    arg.in_steps[i] = row_steps_of(inputs[i], width);
  }
  arg.out = out.data;
  arg.out_steps = row_steps_of(out, width);
  arg.act = act_of(activation.kind);
  arg.alpha = activation.alpha;
  return arg;
}

Result<void> check_rows(const Shape5& shape) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() / 2;
  if (mul(shape.n.x, shape.f) <= most) return {};
  return Error{ErrorCode::unsupported, "has rows of n.x * f = " + std::to_string(shape.n.x) + " * " +
                                           std::to_string(shape.f) + " elements; its kernels take up to " +
                                           std::to_string(most)};
}

}  // namespace znni::cuda
