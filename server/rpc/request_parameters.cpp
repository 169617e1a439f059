#include "server/rpc/request_parameters.hpp"

#include <optional>
#include <string>

#include "server/rpc/client_text.hpp"
#include "server/rpc/datatypes.hpp"

namespace znni::rpc {
namespace {

using inference::InferParameter;

Error wrong_kind(const std::string& key, std::string_view expected) {
  return {ErrorCode::invalid_argument, "request parameter " + in_quotes(key) + ": expected " + std::string(expected)};
}

// Nothing when it is no integer. What does not fit is the largest.
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
    if (!integer(parameter)) return wrong_kind(key, "an integer");
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

Result<void> check_tensor_parameters(const ParameterMap& parameters, const std::string& where) {
  if (parameters.contains("shared_memory_region")) {
    return Error{ErrorCode::unsupported, where + ": shared memory is not offered; send the data in the message"};
  }
  for (const char* key : {"shared_memory_offset", "shared_memory_byte_size"}) {
    if (!parameters.contains(key)) continue;
    return Error{ErrorCode::invalid_argument, where + ": parameter '" + key + "' without 'shared_memory_region'"};
  }
  if (parameters.contains("classification")) {
    return Error{ErrorCode::unsupported, where + ": the classification extension is not offered"};
  }
  return {};
}

}  // namespace znni::rpc
