#include "server/rpc/infer_call.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "server/rpc/client_text.hpp"
#include "server/rpc/datatypes.hpp"
#include "server/rpc/image_output.hpp"
#include "server/rpc/slab_blocks.hpp"
#include "server/rpc/tensor_input.hpp"

namespace znni::rpc {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;

Result<void> check_response_size(const AdmittedInfer& admitted, std::int64_t data_bytes, std::int64_t most_bytes) {
  if (data_bytes <= most_bytes) return {};
  return Error{
      ErrorCode::over_budget,
      "model " + in_quotes(admitted.model.name) + ": the response would have " + std::to_string(data_bytes) +
          " bytes, at most " + std::to_string(most_bytes) +
          " are sent in one message; use the stream znni.v1.Volumes, a smaller volume or output_datatype UINT8"};
}

std::int64_t response_bytes(const AdmittedInfer& admitted) {
  return mul(admitted.request.batch, volume_bytes(admitted.output));
}

// Planes of the largest slab the engine can ask for.
std::int64_t most_slab_planes(const AdmittedInfer& admitted) {
  return admitted.outlook.patch.z - admitted.model.field_of_view.z + 1;
}

void describe_output(const AdmittedInfer& admitted, ModelInferResponse& response) {
  auto& output = *response.add_outputs();
  output.set_name(admitted.model.output_name);
  output.set_datatype(std::string(datatype(admitted.output.type)));
  output.add_shape(admitted.request.batch);
  output.add_shape(admitted.output.f);
  for (int axis = 3 - admitted.model.spatial_rank; axis < 3; ++axis) output.add_shape(admitted.output.n[axis]);
}

VolumeJob make_job(const VolumeView& input, ImageOutput& output, const std::function<void()>& started) {
  VolumeJob job;
  job.input = input;
  job.slab = [&output, started](std::int64_t first_plane, std::int64_t planes) {
    if (started) started();
    return output.slab(first_plane, planes);
  };
  job.deliver = [&output](const OutputSlab& slab) { return output.deliver(slab); };
  return job;
}

}  // namespace

Result<AdmittedInfer> admit_infer(const ModelInferRequest& request, ModelServer& server,
                                  std::int64_t most_response_bytes) {
  if (Result<void> legal = check_version(request.model_name(), request.model_version()); !legal) return legal.error();
  Result<ModelInfo> model = server.find(request.model_name(), request.model_version());
  if (!model) return model.error();
  Result<InferRequest> checked = check_infer_request(request, *model);
  if (!checked) return checked.error();
  Result<JobOutlook> outlook = server.outlook(model->name, model->version, checked->volume);
  if (!outlook) return outlook.error();

  AdmittedInfer admitted;
  admitted.model = *std::move(model);
  admitted.request = *std::move(checked);
  admitted.outlook = *std::move(outlook);
  admitted.output = {admitted.outlook.output.f, admitted.outlook.output.n, admitted.request.parameters.output_type,
                     VolumeOrder::image_major};
  const std::int64_t data_bytes = response_bytes(admitted);
  if (Result<void> fits = check_response_size(admitted, data_bytes, most_response_bytes); !fits) return fits.error();
  const auto received = static_cast<std::int64_t>(request.ByteSizeLong());
  admitted.lease_bytes = add(mul(2, std::max(received, data_bytes)), converted_bytes(request, admitted.request));
  Result<TransportLease> lease = server.lease(admitted.lease_bytes);
  if (!lease) return lease.error().within("model " + in_quotes(admitted.model.name));
  admitted.lease = *std::move(lease);
  return admitted;
}

Result<void> run_infer(const ModelInferRequest& request, const AdmittedInfer& admitted, ModelServer& server,
                       const std::stop_token& stop, const std::function<void()>& started,
                       ModelInferResponse& response) {
  Bytes converted;
  const Result<std::span<const std::byte>> input = input_view(request, admitted.request, converted);
  if (!input) return input.error().within("model " + in_quotes(admitted.model.name));
  SlabBlocks blocks(server);
  const std::int64_t block = ImageOutput::block_bytes(admitted.output, most_slab_planes(admitted));
  if (Result<void> reserved = blocks.reserve(block); !reserved) return reserved;

  response.set_model_name(admitted.model.name);
  response.set_model_version(admitted.model.version);
  response.set_id(request.id());
  describe_output(admitted, response);
  std::string& raw = *response.add_raw_output_contents();
  raw.resize(static_cast<std::size_t>(response_bytes(admitted)));
  const std::int64_t input_step = volume_bytes(admitted.request.volume);
  const std::int64_t output_step = volume_bytes(admitted.output);
  for (std::int64_t i = 0; i < admitted.request.batch; ++i) {
    ImageOutput output(admitted.output, reinterpret_cast<std::byte*>(raw.data()) + i * output_step, blocks);
    const VolumeView volume{input->data() + i * input_step, admitted.request.volume};
    const Result<JobStatistics> done =
        server.run(admitted.model.name, admitted.model.version, make_job(volume, output, started), stop);
    if (!done) return done.error();
    if (!output.complete()) return Error{ErrorCode::internal, "the engine left out planes of the output"};
  }
  return {};
}

}  // namespace znni::rpc
