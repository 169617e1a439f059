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
  // Indexes the attributes of `node`, which must outlive the result. An attribute that is not in `known` is an error,
  // so that no attribute that changes the meaning is ignored.
  [[nodiscard]] static Result<OnnxAttributes> make(const onnx::NodeProto& node,
                                                   std::span<const std::string_view> known);

  // Return the attribute's value, or `otherwise` if the node has none. Fail if it has another type.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] Result<float> real(std::string_view name, float otherwise) const;
  [[nodiscard]] Result<std::string> text(std::string_view name, std::string_view otherwise) const;
  // Returns the list; empty if the node has none.
  [[nodiscard]] Result<std::vector<std::int64_t>> integers(std::string_view name) const;
  // Returns one value for each of the last `rank` axes, each in [1, 2^20]; leading axes are 1. Returns `otherwise` if
  // the node has none.
  [[nodiscard]] Result<Vec3> extent(std::string_view name, int rank, Vec3 otherwise) const;
  // Returns the attribute; nullptr if the node has none.
  [[nodiscard]] const onnx::AttributeProto* find(std::string_view name) const;

 private:
  std::map<std::string, const onnx::AttributeProto*, std::less<>> attributes_;
};

// Fails if any number of attribute `name` differs from `value`. Refuses strides other than 1, pads other than 0 and the
// like.
[[nodiscard]] Result<void> require_all(const OnnxAttributes& attributes, std::string_view name, std::int64_t value);

}  // namespace znni
