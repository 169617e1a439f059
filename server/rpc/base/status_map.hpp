// Errors of ours as gRPC statuses: the one place where this is decided (the table of error codes is in
// docs and tests).
#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

#include "primitives/core/result.hpp"

namespace znni::rpc {

[[nodiscard]] grpc::StatusCode status_code(ErrorCode code);

// The message becomes one line of at most `max_message_bytes`: it travels in the trailers, which clients
// limit to 8 KiB.
inline constexpr std::size_t max_message_bytes = 2000;
[[nodiscard]] grpc::Status to_status(const Error& error);
[[nodiscard]] grpc::Status to_status(const Result<void>& result);

// Return statuses that only calls have. One line each, as above.
[[nodiscard]] grpc::Status already_exists(std::string_view message);
[[nodiscard]] grpc::Status unauthenticated(std::string_view message);
[[nodiscard]] grpc::Status permission_denied(std::string_view message);

// Returns the name of a code for logs: "OK", "INVALID_ARGUMENT".
[[nodiscard]] std::string_view name_of(grpc::StatusCode code);

}  // namespace znni::rpc
