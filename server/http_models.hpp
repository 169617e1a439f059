// Decides whether models are served over HTTP.
#pragma once

#include <string>

#include "server/options.hpp"

namespace znni {

// Returns why they are not, naming the option that says so, or "". With `--http-infer auto` they are served if no one
// else can reach the address, and gRPC has no TLS, which HTTP lacks.
[[nodiscard]] std::string why_no_http_models(const Options& options);

// Returns true if a client over HTTP is on this host, as far as the options tell. `--http-infer on` is for a proxy,
// whose address all its clients have.
[[nodiscard]] bool has_local_http(const Options& options);

}  // namespace znni
