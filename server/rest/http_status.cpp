#include "server/rest/http_status.hpp"

namespace znni::rest {

int http_status(grpc::StatusCode code, std::string_view refusal) {
  switch (code) {
    case grpc::StatusCode::OK: return 200;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::FAILED_PRECONDITION: return 400;
    case grpc::StatusCode::UNAUTHENTICATED: return 401;
    case grpc::StatusCode::PERMISSION_DENIED: return 403;
    case grpc::StatusCode::NOT_FOUND: return 404;
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::ALREADY_EXISTS: return 409;
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return refusal == "too_large" ? 413 : 429;
    case grpc::StatusCode::CANCELLED: return 499;  // nginx's, for a client that went
    case grpc::StatusCode::UNIMPLEMENTED: return 501;
    case grpc::StatusCode::UNAVAILABLE: return 503;
    case grpc::StatusCode::DEADLINE_EXCEEDED: return 504;
    default: return 500;
  }
}

}  // namespace znni::rest
