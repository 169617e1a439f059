// Attributes of one ONNX node, with their types and defaults.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "primitives/core/shape.hpp"

namespace znni {

class OnnxAttributes {
 public:
  // `node` must outlive the result. An attribute that is not in `known` is an error, so that none is ignored
  // that changes the meaning.
  [[nodiscard]] static Result<OnnxAttributes> make(const onnx::NodeProto& node,
                                                   std::span<const std::string_view> known);

  // The attribute's value, or `otherwise` where the node has none; an error where it has another type.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] Result<float> real(std::string_view name, float otherwise) const;
  [[nodiscard]] Result<std::string> text(std::string_view name, std::string_view otherwise) const;
  // Empty where the node has none.
  [[nodiscard]] Result<std::vector<std::int64_t>> integers(std::string_view name) const;
  // One value for each of the last `rank` axes, each in [1, 2^20]; leading axes are 1. `otherwise` where the
  // node has none.
  [[nodiscard]] Result<Vec3> extent(std::string_view name, int rank, Vec3 otherwise) const;
  // nullptr where the node has none.
  [[nodiscard]] const onnx::AttributeProto* find(std::string_view name) const;

 private:
  std::map<std::string, const onnx::AttributeProto*, std::less<>> attributes_;
};

// The error where `name` is not 1 for every axis, or not 0: what a refusal of strides, pads and the like needs.
[[nodiscard]] Result<void> require_all(const OnnxAttributes& attributes, std::string_view name, std::int64_t value);

}  // namespace znni
