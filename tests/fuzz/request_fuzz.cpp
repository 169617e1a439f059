// ModelInfer requests: what passes the checks has exactly the bytes that its shape says.
#include "proto/inference.pb.h"
#include "server/rpc/request_checks.hpp"
#include "server/rpc/tensor_input.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

znni::ModelInfo model() {
  znni::ModelInfo model;
  model.name = "net";
  model.version = "1";
  model.input_name = "raw";
  model.output_name = "out";
  model.f_in = 1;
  model.f_out = 2;
  model.field_of_view = znni::Vec3::cube(3);
  return model;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace znni;
  inference::ModelInferRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  const Result<rpc::InferRequest> checked = rpc::check_infer_request(request, model());
  if (!checked || checked->input_region) return 0;
  rpc::Bytes converted;
  const auto input = rpc::input_view(request, *checked, converted);
  if (!input) return 0;
  const std::int64_t expected = mul(checked->batch, volume_bytes(checked->volume));
  ensure(static_cast<std::int64_t>(input->size()) == expected, "a request that passes has the bytes of its shape");
  return 0;
}
