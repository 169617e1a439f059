// What messages of several operations have in common in a network's text (proto/network.proto): extents, borders, pads
// and activations. `rank` is the network's number of spatial axes; a message leaves out leading axes that it lacks.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/network/network.hpp"
#include "proto/convert/base/extents.hpp"
#include "proto/network.pb.h"

namespace znni {

// Returns an extent, or `otherwise` if the file has none.
template <class Values>
[[nodiscard]] Result<Vec3> extent_or(std::string_view field, const Values& values, int rank, Vec3 otherwise) {
  if (values.empty()) return otherwise;
  return extent_of(field, std::vector<std::int64_t>(values.begin(), values.end()), rank);
}

// Writes one value if the extent is a cube, else one per axis that the net has.
void set_extent(google::protobuf::RepeatedField<std::int64_t>* field, Vec3 extent, int rank);

// Returns voxels at one end of each axis: zeros if the file has none, and along the axes that the rank lacks.
template <class Values>
[[nodiscard]] Result<Vec3> end_of(std::string_view field, const Values& values, int rank) {
  Result<Vec3> end = extent_or(field, values, rank, {});
  for (int axis = 0; end && axis < 3 - rank; ++axis) (*end)[axis] = 0;
  return end;
}

// `message`: a Crop or a Border.
template <class Message>
[[nodiscard]] Result<Border> ends_of(const Message& message, int rank) {
  const Result<Vec3> begin = end_of("begin", message.begin(), rank);
  if (!begin) return begin.error();
  const Result<Vec3> end = end_of("end", message.end(), rank);
  if (!end) return end.error();
  return Border{*begin, *end};
}

// Writes what a crop takes away, or a border.
template <class Message, class Ends>
void set_ends(Message& message, const Ends& ends, int rank) {
  if (ends.begin != Vec3()) set_extent(message.mutable_begin(), ends.begin, rank);
  if (ends.end != Vec3()) set_extent(message.mutable_end(), ends.end, rank);
}

// Fails unless the pads at one end are in [0, 2^20].
[[nodiscard]] Result<void> check_pads(std::string_view field, Vec3 pads);

// Returns the voxels of padding around an input. `message`: a Convolution, a Pooling or an Upsample.
template <class Message>
[[nodiscard]] Result<Border> pads_around(const Message& message, int rank) {
  const Result<Vec3> begin = end_of("pad_begin", message.pad_begin(), rank);
  if (!begin) return begin.error();
  if (Result<void> sound = check_pads("pad_begin", *begin); !sound) return sound.error();
  const Result<Vec3> end = end_of("pad_end", message.pad_end(), rank);
  if (!end) return end.error();
  if (Result<void> sound = check_pads("pad_end", *end); !sound) return sound.error();
  return Border{*begin, *end};
}

// Returns the alpha of an activation whose message has none.
[[nodiscard]] float default_alpha(ActivationKind kind);

// Returns an activation of this kind with the message's alpha.
template <class Message>
[[nodiscard]] Activation activation_of(const Message& message, text::Activation::Kind word) {
  const auto kind = static_cast<ActivationKind>(word);
  return {kind, message.has_alpha() ? message.alpha() : default_alpha(kind)};
}

// Returns the activation that is fused into an operation.
template <class Message>
[[nodiscard]] Activation fused_activation_of(const Message& message) {
  return activation_of(message, message.activation());
}

template <class Message>
void set_fused_activation(Message& message, Activation activation) {
  if (activation == Activation{}) return;
  message.set_activation(static_cast<text::Activation::Kind>(activation.kind));
  if (activation.alpha != default_alpha(activation.kind)) message.set_alpha(activation.alpha);
}

}  // namespace znni
