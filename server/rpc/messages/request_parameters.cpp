#include "server/rpc/messages/request_parameters.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "server/rpc/base/client_text.hpp"
#include "server/rpc/messages/datatypes.hpp"

namespace znni::rpc {
namespace {

using inference::InferParameter;

constexpr const char* offset_key = "shared_memory_offset";
constexpr const char* size_key = "shared_memory_byte_size";
constexpr std::int64_t max_priority = 1'000'000;

Error wrong_kind(const std::string& key, std::string_view expected) {
  return {ErrorCode::invalid_argument, "request parameter " + in_quotes(key) + ": expected " + std::string(expected)};
}

// Returns an integer parameter, clamped to the largest; nothing if it is not an integer.
std::optional<std::int64_t> integer(const InferParameter& parameter) {
  if (parameter.has_int64_param()) return parameter.int64_param();
  if (!parameter.has_uint64_param()) return std::nullopt;
  const std::uint64_t value = parameter.uint64_param();
  return value > static_cast<std::uint64_t>(saturated) ? saturated : static_cast<std::int64_t>(value);
}

Result<void> take(const std::string& key, const InferParameter& parameter, RequestParameters& out) {
  if (key == "output_datatype") {
    if (!parameter.has_string_param()) return wrong_kind(key, "a string: " + std::string(output_datatypes));
    const Result<ElementType> type = output_type(parameter.string_param());
    if (!type) return type.error().within("request parameter");
    out.output_type = *type;
  } else if (key == "timeout") {
    const std::optional<std::int64_t> value = integer(parameter);
    if (!value || *value < 0) return wrong_kind(key, "an integer of microseconds, at least 0");
    out.timeout_us = *value;
  } else if (key == "priority") {
    const std::optional<std::int64_t> value = integer(parameter);
    if (!value || *value < 0) return wrong_kind(key, "an integer, at least 0");
    out.priority = static_cast<int>(std::min<std::int64_t>(*value, max_priority));
  } else if (key == "triton_enable_empty_final_response") {
    if (!parameter.has_bool_param()) return wrong_kind(key, "a bool");
  } else if (key.starts_with("triton_")) {
    return Error{ErrorCode::invalid_argument,
                 "request parameter " + in_quotes(key) + ": names that begin with 'triton_' are reserved"};
  }
  return {};
}

}  // namespace

Result<RequestParameters> check_request_parameters(const ParameterMap& parameters) {
  RequestParameters out;
  for (const auto& [key, parameter] : parameters) {
    if (const Result<void> taken = take(key, parameter, out); !taken) return taken.error();
  }
  return out;
}

Result<std::optional<RegionRange>> check_tensor_parameters(const ParameterMap& parameters, const std::string& where) {
  if (parameters.contains("classification")) {
    return Error{ErrorCode::unsupported, where + ": the classification extension is not offered"};
  }
  const auto region = parameters.find("shared_memory_region");
  if (region == parameters.end()) {
    for (const char* key : {offset_key, size_key}) {
      if (!parameters.contains(key)) continue;
      return Error{ErrorCode::invalid_argument, where + ": parameter '" + key + "' without 'shared_memory_region'"};
    }
    return std::optional<RegionRange>();
  }
  if (!region->second.has_string_param()) return wrong_kind(region->first, "a string").within(where);
  RegionRange range{region->second.string_param()};
  const auto offset = parameters.find(offset_key);
  const auto size = parameters.find(size_key);
  const std::optional<std::int64_t> at = offset == parameters.end() ? 0 : integer(offset->second);
  const std::optional<std::int64_t> bytes = size == parameters.end() ? std::nullopt : integer(size->second);
  if (!at || *at < 0) return wrong_kind(offset_key, "an integer of at least 0").within(where);
  if (!bytes || *bytes < 1) return wrong_kind(size_key, "an integer of at least 1").within(where);
  range.offset = *at;
  range.bytes = *bytes;
  return std::optional<RegionRange>(range);
}

}  // namespace znni::rpc
