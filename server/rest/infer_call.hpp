// One inference request over HTTP, from its headers to the last byte of its answer: the same gate, checks, turns and
// memory as a ModelInfer call over gRPC has.
#pragma once

#include <string>
#include <string_view>

#include "server/metrics/http_exchange.hpp"
#include "server/rest/route.hpp"
#include "server/rpc/front_door.hpp"

namespace znni::rest {

// As records and metrics tell such calls.
inline constexpr std::string_view infer_method = "HttpInfer";

// Answers `request`, for the model of `route`; it waits for its turn and computes. `gate` bounds such calls beside
// those that `door` bounds: each keeps a thread of the HTTP server. Both must outlive the reply. A caller that closes
// the connection, or stalls as a gRPC one may not, ends its call.
[[nodiscard]] HttpReply infer(rpc::FrontDoor& door, rpc::CallGate& gate, const HttpRequest& request,
                              const Route& route);

// Returns the value of the header Authorization; "" where it is not there once.
[[nodiscard]] std::string token_of(const HttpRequest& request);

// Returns the answer that says so. What is left of the body is discarded where that is safe, else the connection
// closed.
[[nodiscard]] HttpReply refuse(const HttpRequest& request, int status, std::string_view message);

}  // namespace znni::rest
