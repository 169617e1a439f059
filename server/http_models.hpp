// Whether models are served over HTTP.
#pragma once

#include <string>

#include "server/options.hpp"

namespace znni {

// Returns why not, naming the option that says so, or ""; `--http-infer` decides, and where it is `auto` so do the
// address, which others may reach, and the TLS of gRPC, which HTTP has not.
[[nodiscard]] std::string why_no_http_models(const Options& options);

}  // namespace znni
