#include "proto/convert/text/node_fields.hpp"

#include "proto/convert/base/errors.hpp"

namespace znni {

// The file's enum has the same order as the planner's kinds.
static_assert(static_cast<int>(ActivationKind::gelu_tanh) == text::Activation::gelu_tanh);
static_assert(static_cast<int>(ActivationKind::none) == text::Activation::none);

void set_extent(google::protobuf::RepeatedField<std::int64_t>* field, Vec3 extent, int rank) {
  bool equal = true;
  for (int axis = 3 - rank; axis < 3; ++axis) equal = equal && extent[axis] == extent.x;
  for (int axis = equal ? 2 : 3 - rank; axis < 3; ++axis) field->Add(extent[axis]);
}

Result<void> check_pads(std::string_view field, Vec3 pads) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  if (covers(pads, {}) && covers(Vec3::cube(most), pads)) return {};
  return corrupt(std::string(field) + " is " + to_string(pads) + "; 0 to 2^20 is right");
}

float default_alpha(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::leaky_relu: return 0.01F;
    case ActivationKind::elu: return 1.0F;
    case ActivationKind::capped_relu: return 6.0F;
    default: return 0.0F;
  }
}

}  // namespace znni
