#include "server/rpc/calls/refusal.hpp"

namespace znni::rpc {

std::string_view refusal_of(ErrorCode code, const RefusedCall& call) {
  const bool fits_alone = call.wanted_bytes > 0 && call.wanted_bytes <= call.max_bytes;
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::corrupt_file: return "malformed";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::over_budget: return fits_alone ? "memory" : "too_large";
    case ErrorCode::unavailable: return call.closing ? "shutting_down" : call.served ? "queue_full" : "not_ready";
    case ErrorCode::deadline_exceeded: return "deadline";
    case ErrorCode::device_failure:
    case ErrorCode::device_lost:
    case ErrorCode::cancelled:
    case ErrorCode::internal: return "";
  }
  return "";
}

}  // namespace znni::rpc
