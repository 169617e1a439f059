#include "server/rest/route.hpp"

#include <vector>

namespace znni::rest {
namespace {

// Returns the parts between the slashes of a path that begins with one. A slash at the end begins no part.
std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty() && path.front() == '/') {
    path.remove_prefix(1);
    const std::size_t end = path.find('/');
    parts.emplace_back(path.substr(0, end));
    path.remove_prefix(end == std::string_view::npos ? path.size() : end);
  }
  if (parts.size() > 1 && parts.back().empty()) parts.pop_back();
  return parts;
}

Question question_of(std::string_view last) {
  if (last == "ready") return Question::model_ready;
  return last == "infer" ? Question::infer : Question::unknown;
}

}  // namespace

Route route_of(std::string_view path) {
  const std::vector<std::string> parts = parts_of(path);
  const std::size_t count = parts.size();
  if (count == 0 || parts[0] != "v2") return {};
  if (count == 1) return {Question::server, "", ""};
  if (count == 3 && parts[1] == "health") {
    return {parts[2] == "live" ? Question::live : parts[2] == "ready" ? Question::ready : Question::unknown, "", ""};
  }
  if (count < 3 || parts[1] != "models" || parts[2].empty()) return {};
  const bool has_version = count > 4 && parts[3] == "versions";
  const std::size_t behind = has_version ? 5 : 3;
  if (count > behind + 1 || (has_version && parts[4].empty())) return {};
  Route route;
  route.question = count == behind ? Question::model : question_of(parts[behind]);
  if (route.question == Question::unknown) return {};
  route.model = parts[2];
  if (has_version) route.version = parts[4];
  return route;
}

}  // namespace znni::rest
