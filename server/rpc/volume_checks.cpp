#include "server/rpc/volume_checks.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "server/rpc/client_text.hpp"
#include "server/rpc/datatypes.hpp"

namespace znni::rpc {
namespace {

constexpr std::uint32_t most_priority = 1'000'000;

}  // namespace

Result<VolumeHead> check_volume_header(const v1::VolumeHeader& header, const ModelInfo& model) {
  const std::string where = "model " + in_quotes(model.name) + ": ";
  const auto invalid = [&where](const std::string& what) { return Error{ErrorCode::invalid_argument, where + what}; };
  const std::optional<ElementType> type = element_type(header.datatype());
  if (!type)
    return invalid("datatype " + in_quotes(header.datatype()) + " found, expected " + std::string(input_datatypes));
  const Result<ElementType> output = output_type(header.output_datatype());
  if (!output) return output.error().within("model " + in_quotes(model.name));
  if (header.channels() != model.f_in) {
    return invalid(std::to_string(header.channels()) + " channels found, expected " + std::to_string(model.f_in));
  }
  const Vec3 n = {header.extent().z(), header.extent().y(), header.extent().x()};
  if (!covers(n, Vec3::cube(1)))
    return invalid("extent " + to_string(n) + " found, expected at least 1 along each axis");
  for (int axis = 0; axis < 3 - model.spatial_rank; ++axis) {
    if (n[axis] == 1) continue;
    return invalid("extent " + to_string(n) + " found, expected " + (axis == 0 ? "z" : "y") + " = 1 for a " +
                   std::to_string(model.spatial_rank) + "D net");
  }
  const auto priority = static_cast<int>(std::min<std::uint32_t>(header.priority(), most_priority));
  const VolumeHead head = {{model.f_in, n, *type, VolumeOrder::plane_major}, *output, header.normalised(), priority};
  if (const Result<void> legal = check_shape({1, head.volume.f, n}); !legal) {
    return legal.error().within("model " + in_quotes(model.name));
  }
  return head;
}

}  // namespace znni::rpc
