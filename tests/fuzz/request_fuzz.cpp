// ModelInfer requests: what is parsed takes no more memory than was said before, and what passes the checks has exactly
// the bytes that its shape says.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>

#include "proto/inference.pb.h"
#include "server/rpc/messages/message_size.hpp"
#include "server/rpc/messages/request_checks.hpp"
#include "server/rpc/messages/tensor_input.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

znni::ModelInfo model(std::vector<znni::NamedTensor> inputs) {
  znni::ModelInfo model;
  model.name = "net";
  model.version = "1";
  model.f_in = static_cast<std::int64_t>(inputs.size());
  model.inputs = std::move(inputs);
  model.outputs = {{"out", 1}, {"more", 1}};
  model.f_out = 2;
  model.field_of_view = znni::Vec3::cube(3);
  return model;
}

void check_of(const inference::ModelInferRequest& request, const znni::ModelInfo& model) {
  using namespace znni;
  const Result<rpc::InferRequest> checked = rpc::check_infer_request(request, model);
  if (!checked) return;
  for (const rpc::GivenInput& input : checked->inputs) {
    if (input.region) return;
  }
  rpc::Bytes converted;
  const auto input = rpc::input_view(request, *checked, {}, converted);
  if (!input) return;
  const std::int64_t expected = mul(checked->batch, volume_bytes(checked->volume));
  ensure(static_cast<std::int64_t>(input->size()) == expected, "a request that passes has the bytes of its shape");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace znni;
  inference::ModelInferRequest request;
  google::protobuf::io::ArrayInputStream wire(data, static_cast<int>(size), 100);
  const Result<std::int64_t> most =
      rpc::parsed_bytes(*inference::ModelInferRequest::descriptor(), wire, std::numeric_limits<std::int64_t>::max());
  if (!most || !request.ParseFromArray(data, static_cast<int>(size))) return 0;
  ensure(static_cast<std::int64_t>(request.SpaceUsedLong()) <= *most, "a message is no larger than was said");
  check_of(request, model({{"raw", 1}}));
  check_of(request, model({{"raw", 1}, {"mask", 1}}));
  return 0;
}
