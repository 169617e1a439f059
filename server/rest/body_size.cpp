#include "server/rest/body_size.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "primitives/core/shape.hpp"
#include "server/rpc/base/client_text.hpp"

namespace znni::rest {
namespace {

constexpr const char* length_header = "Content-Length";
constexpr const char* json_header = "Inference-Header-Content-Length";

Error invalid_size(const std::string& message) { return {ErrorCode::invalid_argument, message}; }

// Returns the number of a text of digits alone; nothing for other texts.
std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && number >= 0 && text.front() != '-';
  return is_whole ? std::optional(number) : std::nullopt;
}

// Returns nothing if the header is not there.
Result<std::optional<std::int64_t>> read_length(const HttpRequest& request, const char* name) {
  const std::vector<std::string> values = request.header(name);
  if (values.empty()) return std::optional<std::int64_t>();
  if (values.size() > 1) return invalid_size(std::string("the header ") + name + " found twice, expected once");
  const std::optional<std::int64_t> length = whole_number(values.front());
  if (length) return length;
  return invalid_size(std::string("the header ") + name + ": found " + rpc::in_quotes(values.front()) +
                      ", expected a number of bytes");
}

bool is_in_parts(const HttpRequest& request) {
  const std::vector<std::string> types = request.header("Content-Type");
  return !types.empty() && types.front().find("multipart/") != std::string::npos;
}

Error too_large(std::int64_t found, std::int64_t most, std::string_view what) {
  return {ErrorCode::over_budget, std::string(what) + " of " + std::to_string(found) + " bytes found, at most " +
                                      std::to_string(most) + " are taken"};
}

}  // namespace

std::int64_t max_beside_voxels(std::int64_t max_voxel_bytes) {
  return std::clamp(max_voxel_bytes / 4, std::int64_t{16} << 10, std::int64_t{1} << 20);
}

bool is_plain_body(const HttpRequest& request) {
  return request.header("Transfer-Encoding").empty() && request.header("Content-Encoding").empty() &&
         !is_in_parts(request) && read_length(request, length_header).has_value() &&
         request.header(length_header).size() == 1;
}

Result<BodySize> read_body_size(const HttpRequest& request, std::int64_t max_voxel_bytes) {
  const auto unsupported = [](const char* what) {
    return Error{ErrorCode::unsupported, std::string(what) + ", expected a plain body with Content-Length"};
  };
  if (!request.header("Transfer-Encoding").empty()) return unsupported("a body in chunks found");
  if (!request.header("Content-Encoding").empty()) return unsupported("a compressed body found");
  if (is_in_parts(request)) return unsupported("a body of several parts found");
  const Result<std::optional<std::int64_t>> length = read_length(request, length_header);
  if (!length) return length.error();
  if (!*length) return invalid_size("no Content-Length found, expected that of the body");
  const std::int64_t max_beside = max_beside_voxels(max_voxel_bytes);
  const std::int64_t most = add(max_voxel_bytes, max_beside);
  if (**length > most) return too_large(**length, most, "a body");
  const Result<std::optional<std::int64_t>> json = read_length(request, json_header);
  if (!json) return json.error();
  if (!*json) return BodySize{**length, 0};
  if (**json > **length) {
    return invalid_size(std::string(json_header) + " is " + std::to_string(**json) +
                        ", expected at most the length of the body, " + std::to_string(**length));
  }
  if (**json > max_beside) return too_large(**json, max_beside, "JSON before binary data");
  return BodySize{**json, **length - **json};
}

}  // namespace znni::rest
