// What `znni infer` says at its end.
#pragma once

#include <string>

namespace znni::client {

struct InferOutcome {
  std::string summary;  // for people, one line
  std::string json;     // for machines
};

}  // namespace znni::client
