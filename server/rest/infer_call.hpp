// Serves one inference request over HTTP, from its headers to the last byte of its answer. It has the same gate,
// checks, turns and memory as a ModelInfer call over gRPC.
#pragma once

#include <string>
#include <string_view>

#include "server/metrics/http_exchange.hpp"
#include "server/rest/route.hpp"
#include "server/rpc/calls/front_door.hpp"

namespace znni::rest {

// Names such calls in records and metrics.
inline constexpr std::string_view infer_method = "HttpInfer";

// Answers `request`, for the model of `route`: waits for a turn, receives and computes. `gate` bounds these calls
// beside those that `door` bounds, because each keeps a thread of the HTTP server. Both must outlive the reply. A
// caller that closes the connection, be it for sending alone, ends its call. So does one that takes longer to send its
// body than seconds_for_body(), or to take the answer than a gRPC caller may.
[[nodiscard]] HttpReply infer(rpc::FrontDoor& door, rpc::CallGate& gate, const HttpRequest& request,
                              const Route& route);

// Returns the value of the header Authorization, or "" if it is not there exactly once.
[[nodiscard]] std::string token_of(const HttpRequest& request);

// Returns the answer to a refused request. The rest of the body is to be discarded if that is safe; else the connection
// closes.
[[nodiscard]] HttpReply refuse(const HttpRequest& request, int status, std::string_view message);

}  // namespace znni::rest
