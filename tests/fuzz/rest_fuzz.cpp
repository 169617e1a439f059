// Reads requests as JSON with bytes behind it; the first two bytes are the length of the JSON. A message that is made
// has the voxels of its shape or all bytes behind the JSON, and what it allocates is bounded.
#include <algorithm>
#include <optional>
#include <string>

#include "server/rest/infer_message.hpp"
#include "server/rest/request_text.hpp"
#include "server/rpc/messages/datatypes.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

constexpr std::int64_t max_voxel_bytes = 1000;

znni::rest::InferBody body_of(std::string text) {
  if (text.size() < 2) return {};
  const auto byte = [&text](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(text[i])); };
  const std::size_t json = std::min(text.size() - 2, byte(0) * 256 + byte(1));
  return {text.substr(2, json), text.substr(2 + json)};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace znni;
  const rest::InferBody body = body_of(std::string(reinterpret_cast<const char*>(data), size));
  const Result<rest::InferMessage> made = rest::make_infer_message(body, max_voxel_bytes);
  if (!made) return 0;
  const inference::ModelInferRequest& request = *made->request;
  ensure(request.inputs_size() <= rest::max_listed && request.outputs_size() <= rest::max_listed, "lists are bounded");
  if (request.raw_input_contents_size() == 0) return 0;
  ensure(request.raw_input_contents_size() <= request.inputs_size(), "no more inputs have voxels than there are");
  if (request.inputs_size() > 1) {
    std::int64_t all = 0;
    for (const std::string& raw : request.raw_input_contents()) all += static_cast<std::int64_t>(raw.size());
    const auto sent = static_cast<std::int64_t>(body.binary.size());
    ensure(all <= add(sent, max_voxel_bytes), "numbers of all inputs take no more memory than they may");
    return 0;
  }
  const std::string& voxels = request.raw_input_contents(0);
  if (voxels == body.binary) return 0;
  const auto bytes = static_cast<std::int64_t>(voxels.size());
  ensure(bytes <= max_voxel_bytes, "numbers take no more memory than they may");
  const std::optional<ElementType> type = rpc::element_type(request.inputs(0).datatype());
  std::int64_t expected = element_bytes(type.value_or(ElementType::f32));
  for (const std::int64_t extent : request.inputs(0).shape()) expected = mul(expected, extent);
  ensure(type.has_value() && bytes == expected, "numbers are as many as their shape has");
  return 0;
}
