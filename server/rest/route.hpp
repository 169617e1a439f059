// Tells what a path of the protocol asks for.
#pragma once

#include <string>
#include <string_view>

namespace znni::rest {

enum class Question { unknown, server, live, ready, model, model_ready, infer };

struct Route {
  Question question = Question::unknown;
  std::string model;    // for the last three questions
  std::string version;  // likewise; "" if the path names none
};

// Returns the route of "/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/M[/versions/V]", and of the last with
// "/ready" or "/infer" behind it; each may end with a slash.
[[nodiscard]] Route route_of(std::string_view path);

}  // namespace znni::rest
