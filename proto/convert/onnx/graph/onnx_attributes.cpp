#include "proto/convert/onnx/graph/onnx_attributes.hpp"

#include <algorithm>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

std::string attribute_text(std::string_view name) { return "attribute " + in_quotes(name); }

Result<void> check_type(const onnx::AttributeProto& attribute, onnx::AttributeProto::AttributeType type) {
  if (attribute.type() == type) return {};
  return corrupt(attribute_text(attribute.name()) + " has type " +
                 onnx::AttributeProto::AttributeType_Name(attribute.type()) + "; " +
                 onnx::AttributeProto::AttributeType_Name(type) + " is right");
}

std::string list(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text.empty() ? "none" : text;
}

}  // namespace

Result<OnnxAttributes> OnnxAttributes::make(const onnx::NodeProto& node, std::span<const std::string_view> known) {
  OnnxAttributes result;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (std::find(known.begin(), known.end(), attribute.name()) == known.end()) {
      return unsupported(attribute_text(attribute.name()) + " is not supported; supported are: " + list(known));
    }
    if (!result.attributes_.emplace(attribute.name(), &attribute).second) {
      return corrupt(attribute_text(attribute.name()) + " stands twice");
    }
  }
  return result;
}

const onnx::AttributeProto* OnnxAttributes::find(std::string_view name) const {
  const auto found = attributes_.find(name);
  return found == attributes_.end() ? nullptr : found->second;
}

Result<std::int64_t> OnnxAttributes::integer(std::string_view name, std::int64_t otherwise) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return otherwise;
  if (const Result<void> sound = check_type(*attribute, onnx::AttributeProto::INT); !sound) return sound.error();
  return static_cast<std::int64_t>(attribute->i());
}

Result<float> OnnxAttributes::real(std::string_view name, float otherwise) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return otherwise;
  if (const Result<void> sound = check_type(*attribute, onnx::AttributeProto::FLOAT); !sound) return sound.error();
  return attribute->f();
}

Result<std::string> OnnxAttributes::text(std::string_view name, std::string_view otherwise) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return std::string(otherwise);
  if (const Result<void> sound = check_type(*attribute, onnx::AttributeProto::STRING); !sound) return sound.error();
  return attribute->s();
}

Result<std::vector<std::int64_t>> OnnxAttributes::integers(std::string_view name) const {
  const onnx::AttributeProto* attribute = find(name);
  if (attribute == nullptr) return std::vector<std::int64_t>();
  if (const Result<void> sound = check_type(*attribute, onnx::AttributeProto::INTS); !sound) return sound.error();
  return std::vector<std::int64_t>(attribute->ints().begin(), attribute->ints().end());
}

Result<Vec3> OnnxAttributes::extent(std::string_view name, int rank, Vec3 otherwise) const {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  const Result<std::vector<std::int64_t>> values = integers(name);
  if (!values) return values.error();
  if (values->empty()) return otherwise;
  if (values->size() != static_cast<std::size_t>(rank)) {
    return corrupt(attribute_text(name) + " has " + std::to_string(values->size()) + " values; the net has " +
                   std::to_string(rank) + " spatial axes");
  }
  Vec3 extent = Vec3::cube(1);
  for (int i = 0; i < rank; ++i) {
    const std::int64_t value = (*values)[static_cast<std::size_t>(i)];
    if (value < 1 || value > most)
      return corrupt(attribute_text(name) + " holds " + std::to_string(value) + "; 1 to 2^20 is right");
    extent[3 - rank + i] = value;
  }
  return extent;
}

Result<void> require_all(const OnnxAttributes& attributes, std::string_view name, std::int64_t value) {
  const Result<std::vector<std::int64_t>> values = attributes.integers(name);
  if (!values) return values.error();
  for (const std::int64_t found : *values) {
    if (found == value) continue;
    return unsupported(std::string(name) + " of " + std::to_string(found) + " are not supported; only " +
                       std::to_string(value));
  }
  return {};
}

}  // namespace znni
