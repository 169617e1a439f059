#include "server/rpc/volumes/volume_checks.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "planner/base/fingerprint.hpp"
#include "server/rpc/base/client_text.hpp"
#include "server/rpc/messages/datatypes.hpp"

namespace znni::rpc {
namespace {

constexpr std::uint32_t max_priority = 1'000'000;

}  // namespace

Result<VolumeHead> check_volume_header(const v1::VolumeHeader& header, const ModelInfo& model) {
  const std::string where = "model " + in_quotes(model.name) + ": ";
  const auto invalid = [&where](const std::string& what) { return Error{ErrorCode::invalid_argument, where + what}; };
  const std::optional<ElementType> type = element_type(header.datatype());
  if (!type)
    return invalid("datatype " + in_quotes(header.datatype()) + " found, expected " + std::string(input_datatypes));
  const Result<ElementType> output = output_type(header.output_datatype());
  if (!output) return output.error().within("model " + in_quotes(model.name));
  if (const Result<void> exact = check_holds_numbers(*output, model.largest_channel_number); !exact) {
    return exact.error().within("model " + in_quotes(model.name));
  }
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
  const auto priority = static_cast<int>(std::min<std::uint32_t>(header.priority(), max_priority));
  const VolumeHead head = {{model.f_in, n, *type, VolumeOrder::plane_major}, *output,  header.normalised(),
                           model.whole_input && !header.normalised(),        priority, header.first_plane()};
  if (const Result<void> legal = check_shape({1, head.volume.f, n}); !legal) {
    return legal.error().within("model " + in_quotes(model.name));
  }
  const std::int64_t planes = n.z - model.field_of_view.z + 1;
  if (head.first_plane < 0 || (head.first_plane > 0 && head.first_plane >= planes)) {
    return invalid("first_plane " + std::to_string(head.first_plane) + " found, expected one of the output's " +
                   std::to_string(std::max<std::int64_t>(planes, 0)) + " planes, counted from 0");
  }
  return head;
}

std::string resume_token(const v1::VolumeHeader& header, const ModelInfo& model) {
  Fingerprint print;
  for (const std::string* text : {&model.name, &model.version, &model.identity, &header.datatype()}) print.add(*text);
  print.add(header.output_datatype().empty() ? std::string("FP32") : header.output_datatype());
  const std::int64_t numbers[] = {header.channels(), header.extent().z(), header.extent().y(), header.extent().x(),
                                  header.normalised() ? 1 : 0};
  print.add(std::as_bytes(std::span(numbers)));
  return print.text();
}

std::string model_token(const ModelInfo& model) {
  Fingerprint print;
  for (const std::string* text : {&model.name, &model.version, &model.identity}) print.add(*text);
  return print.text();
}

Result<void> check_resume(const v1::VolumeHeader& header, const std::string& token, const ModelInfo& model) {
  if (header.first_plane() == 0) return {};
  const std::string where = "model " + in_quotes(model.name) + ": ";
  if (!model.is_resumable()) {
    return Error{
        ErrorCode::unsupported,
        where + "first_plane " + std::to_string(header.first_plane()) +
            " found, expected 0: the network pads, upsamples or is bound to its window, and its streams are not "
            "resumed"};
  }
  if (model.whole_input && !header.normalised()) {
    return Error{ErrorCode::unsupported, where + "first_plane " + std::to_string(header.first_plane()) +
                                             " found, expected 0: the model standardises a volume as a whole"};
  }
  if (header.resume_token() == token) return {};
  return Error{
      ErrorCode::corrupt_file,
      where + "resume_token " + in_quotes(header.resume_token()) +
          " is not that of this volume, model and plan: what is computed now would not belong to what is there; "
          "start over"};
}

void set_extent(Vec3 n, v1::Extent& extent) {
  extent.set_z(n.z);
  extent.set_y(n.y);
  extent.set_x(n.x);
}

std::int64_t plane_bytes(VolumeShape volume) {
  volume.n.z = 1;
  return volume_bytes(volume);
}

}  // namespace znni::rpc
