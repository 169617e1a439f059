// What is told of every call that carried a volume, for logs and metrics. This layer knows no logging library.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace znni::rpc {

struct CallRecord {
  std::string_view method;  // "ModelInfer", "Volumes"
  std::string model;        // as the client wrote it, cut and without control characters
  std::string id;           // likewise
  std::string_view code;    // "OK", "INVALID_ARGUMENT"
  std::string reason;       // "" when OK
  double seconds = 0;       // from the first message to the end of the work
};

// Called from many threads at once.
using CallSink = std::function<void(const CallRecord&)>;

}  // namespace znni::rpc
