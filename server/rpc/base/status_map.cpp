#include "server/rpc/base/status_map.hpp"

#include <array>
#include <string>

#include "server/rpc/base/client_text.hpp"

namespace znni::rpc {

grpc::StatusCode status_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::not_found: return grpc::StatusCode::NOT_FOUND;
    case ErrorCode::unsupported: return grpc::StatusCode::UNIMPLEMENTED;
    case ErrorCode::over_budget: return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case ErrorCode::device_failure: return grpc::StatusCode::INTERNAL;
    case ErrorCode::device_lost: return grpc::StatusCode::UNAVAILABLE;  // the daemon is about to start again
    case ErrorCode::corrupt_file: return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorCode::unavailable: return grpc::StatusCode::UNAVAILABLE;
    case ErrorCode::deadline_exceeded: return grpc::StatusCode::DEADLINE_EXCEEDED;
    case ErrorCode::cancelled: return grpc::StatusCode::CANCELLED;
    case ErrorCode::internal: return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

grpc::Status to_status(const Error& error) {
  return {status_code(error.code), one_line(error.message, max_message_bytes)};
}

grpc::Status to_status(const Result<void>& result) { return result ? grpc::Status::OK : to_status(result.error()); }

grpc::Status already_exists(std::string_view message) {
  return {grpc::StatusCode::ALREADY_EXISTS, one_line(message, max_message_bytes)};
}

grpc::Status unauthenticated(std::string_view message) {
  return {grpc::StatusCode::UNAUTHENTICATED, one_line(message, max_message_bytes)};
}

grpc::Status permission_denied(std::string_view message) {
  return {grpc::StatusCode::PERMISSION_DENIED, one_line(message, max_message_bytes)};
}

std::string_view name_of(grpc::StatusCode code) {
  static constexpr std::array<std::string_view, 17> names = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto index = static_cast<std::size_t>(code);
  return index < names.size() ? names[index] : "UNKNOWN";
}

}  // namespace znni::rpc
