#include "server/rpc/inference/infer_call.hpp"

#include <algorithm>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "server/rpc/base/client_text.hpp"
#include "server/rpc/base/find_room.hpp"
#include "server/rpc/inference/channel_output.hpp"
#include "server/rpc/messages/datatypes.hpp"
#include "server/rpc/messages/tensor_input.hpp"

namespace znni::rpc {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;

// Returns the most jobs of a request that stand in line at the same time: each takes about a kilobyte, and 8 bytes for
// each channel, which are not leased.
std::int64_t max_jobs(std::int64_t channels) {
  constexpr std::int64_t most = 1000;
  constexpr std::int64_t max_channels = 128 * most;  // of all
  return std::clamp<std::int64_t>(max_channels / channels, 1, most);
}

Result<void> check_response_size(const AdmittedInfer& admitted, std::int64_t data_bytes, std::int64_t max_bytes) {
  if (data_bytes <= max_bytes) return {};
  return Error{
      ErrorCode::over_budget,
      "model " + in_quotes(admitted.model.name) + ": the response would have " + std::to_string(data_bytes) +
          " bytes, at most " + std::to_string(max_bytes) +
          " are sent in one message; use the stream znni.v1.Volumes, a smaller volume or output_datatype UINT8"};
}

// Returns the bytes of the voxels that are in the message, raw or typed.
std::int64_t request_bytes(const InferRequest& request) {
  std::int64_t bytes = 0;
  for (const GivenInput& input : request.inputs) {
    VolumeShape shape = request.volume;
    shape.f = input.channels;
    if (!input.region) bytes = add(bytes, mul(request.batch, volume_bytes(shape)));
  }
  return bytes;
}

Result<void> check_request_size(const ModelInfo& model, std::int64_t data_bytes, std::int64_t max_bytes) {
  if (data_bytes <= max_bytes) return {};
  return Error{
      ErrorCode::over_budget,
      "model " + in_quotes(model.name) + ": the request has " + std::to_string(data_bytes) +
          " bytes of voxels, at most " + std::to_string(max_bytes) +
          " are taken in one message; use the stream znni.v1.Volumes, a smaller volume or a type of fewer bytes"};
}

// Returns the bytes of an output of one job.
std::int64_t job_bytes(const AdmittedInfer& admitted, const RequestedOutput& output) {
  VolumeShape shape = admitted.output;
  shape.f = output.channels;
  return volume_bytes(shape);
}

std::int64_t bytes_of(const AdmittedInfer& admitted, const RequestedOutput& output) {
  return mul(admitted.request.batch, job_bytes(admitted, output));
}

std::int64_t response_bytes(const AdmittedInfer& admitted) {
  std::int64_t bytes = 0;
  for (const RequestedOutput& output : admitted.request.outputs) bytes = add(bytes, bytes_of(admitted, output));
  return bytes;
}

bool to_regions(const InferRequest& request) { return request.outputs.front().region.has_value(); }

bool from_regions(const InferRequest& request) {
  return std::any_of(request.inputs.begin(), request.inputs.end(),
                     [](const GivenInput& input) { return input.region.has_value(); });
}

// Finds the region that an output goes to. Fails if it is too small.
Result<RegionHandle> find_region(const SharedRegions& regions, const AdmittedInfer& admitted,
                                 const RequestedOutput& output) {
  Result<RegionHandle> region = regions.find(*output.region);
  const std::int64_t bytes = bytes_of(admitted, output);
  if (!region || output.region->bytes >= bytes) return region;
  return Error{ErrorCode::invalid_argument, "shared memory region " + in_quotes(output.region->region) + ": " +
                                                std::to_string(output.region->bytes) +
                                                " bytes are given for the output " + in_quotes(output.name) +
                                                ", it has " + std::to_string(bytes)};
}

// Finds the regions that the request names, within their bounds and large enough.
Result<void> find_regions(const InferTerms& terms, AdmittedInfer& admitted) {
  const InferRequest& request = admitted.request;
  admitted.input_regions.clear();
  admitted.output_regions.clear();
  if (!from_regions(request) && !to_regions(request)) return {};
  if (terms.regions == nullptr) {
    return Error{ErrorCode::unsupported,
                 "model " + in_quotes(admitted.model.name) +
                     ": shared memory is off, or not for this client, who is on another host; send the data in the "
                     "message"};
  }
  for (const GivenInput& input : request.inputs) {
    if (!from_regions(request)) break;
    Result<RegionHandle> region = input.region ? terms.regions->find(*input.region) : RegionHandle();
    if (!region) return region.error();
    admitted.input_regions.push_back(*std::move(region));
  }
  if (!to_regions(request)) return {};
  for (const RequestedOutput& output : request.outputs) {
    Result<RegionHandle> region = find_region(*terms.regions, admitted, output);
    if (!region) return region.error();
    admitted.output_regions.push_back(*std::move(region));
  }
  return {};
}

// Returns the bytes of request, response and the list of patches while the request is received and computed and the
// response is sent.
std::int64_t transport_bytes(const ModelInferRequest& request, const AdmittedInfer& admitted) {
  // Typed integers are wider in memory than on the wire.
  std::int64_t typed = 0;
  for (const auto& input : request.inputs()) typed += static_cast<std::int64_t>(input.contents().SpaceUsedLong());
  const std::int64_t received = std::max(static_cast<std::int64_t>(request.ByteSizeLong()), typed);
  const std::int64_t output = response_bytes(admitted);
  const std::int64_t sent = admitted.output_regions.empty() ? output : 0;
  const std::int64_t copied = converted_bytes(admitted.request);
  return add(add(add(mul(2, std::max(received, sent)), copied), output - sent), admitted.estimate.list_bytes);
}

// Returns what to lease of `transport` bytes. The memory that a stream holds already has room for a request and its
// response: not for a copy of several inputs, and not for the sums of overlapping windows.
std::int64_t bytes_to_lease(const InferTerms& terms, const AdmittedInfer& admitted, std::int64_t transport) {
  const bool has_regions = !admitted.input_regions.empty() || !admitted.output_regions.empty();
  if (terms.leased || has_regions) return transport;
  const bool is_copied = admitted.request.inputs.size() > 1;
  const std::int64_t copied = is_copied ? converted_bytes(admitted.request) : 0;
  return is_copied || admitted.model.window != Vec3{} ? add(copied, admitted.estimate.list_bytes) : 0;
}

// Writes the outputs into shared memory, if they go there.
Result<void> hand_over(const AdmittedInfer& admitted, ModelInferResponse& response) {
  for (std::size_t i = 0; i < admitted.output_regions.size(); ++i) {
    const RegionRange& range = *admitted.request.outputs[i].region;
    const int number = static_cast<int>(i);
    const std::string& raw = response.raw_output_contents(number);
    Result<void> put = admitted.output_regions[i]->write(range.offset, std::as_bytes(std::span(raw)));
    if (!put) return put;
    auto& parameters = *response.mutable_outputs(number)->mutable_parameters();
    parameters["shared_memory_region"].set_string_param(range.region);
    parameters["shared_memory_offset"].set_int64_param(range.offset);
    parameters["shared_memory_byte_size"].set_int64_param(static_cast<std::int64_t>(raw.size()));
  }
  if (!admitted.output_regions.empty()) response.clear_raw_output_contents();
  return {};
}

void describe_output(const AdmittedInfer& admitted, const RequestedOutput& asked, ModelInferResponse& response) {
  auto& output = *response.add_outputs();
  output.set_name(asked.name);
  output.set_datatype(std::string(datatype(admitted.output.type)));
  output.add_shape(admitted.request.batch);
  output.add_shape(asked.channels);
  for (int axis = 3 - admitted.model.spatial_rank; axis < 3; ++axis) output.add_shape(admitted.output.n[axis]);
}

// Describes the outputs and makes room for their voxels.
void add_outputs(const AdmittedInfer& admitted, ModelInferResponse& response) {
  for (const RequestedOutput& output : admitted.request.outputs) {
    describe_output(admitted, output, response);
    response.add_raw_output_contents()->resize(static_cast<std::size_t>(bytes_of(admitted, output)));
  }
}

VolumeJob make_job(const VolumeView& input, const AdmittedInfer& admitted, ChannelOutput& output) {
  VolumeJob job;
  job.input.volume = input;
  job.schedule.model = admitted.model.number;
  job.schedule.rung = admitted.estimate.rung;
  job.schedule.max_held = admitted.estimate.max_held;
  job.sink.type = admitted.output.type;
  job.schedule.priority = admitted.request.parameters.priority;
  job.sink.slab = [&output](std::int64_t first_plane, std::int64_t planes) { return output.slab(first_plane, planes); };
  job.sink.deliver = [&output](const OutputSlab& slab) { return output.deliver(slab); };
  job.sink.abandon = [&output](const OutputSlab& slab) { output.abandon(slab); };
  return job;
}

// Returns the bytes of the slabs of one job.
std::int64_t slab_bytes(const AdmittedInfer& admitted) {
  const JobEstimate& estimate = admitted.estimate;
  return mul(ChannelOutput::block_bytes(admitted.output, estimate.slab_planes), estimate.slabs);
}

// Reserves memory for as many jobs at a time as share a batch of the engine, or for those that there is memory for: at
// least one.
Result<void> reserve_blocks(AdmittedInfer& admitted) {
  const JobEstimate& estimate = admitted.estimate;
  const std::int64_t wanted =
      std::min(estimate.entries > 0 ? estimate.batch / estimate.entries : 1, admitted.request.batch);
  const std::int64_t bytes = ChannelOutput::block_bytes(admitted.output, estimate.slab_planes);
  for (admitted.together = 0; admitted.together < wanted; ++admitted.together) {
    const Result<void> reserved = bytes > 0 ? admitted.blocks->reserve(bytes, estimate.slabs) : Result<void>();
    if (!reserved) return admitted.together > 0 ? Result<void>() : reserved;
  }
  return {};
}

Error was_reloaded(const ModelInfo& model) {
  return {ErrorCode::unavailable,
          "model " + in_quotes(model.name) + " was loaded again since the request came; try again"};
}

bool is_loaded_still(const ModelServer& server, const ModelInfo& model) {
  const Result<ModelInfo> now = server.find(model.name, model.version);
  return !now || now->number == model.number;
}

// Asks the server for an estimate and leases what it says, by the memory that is free now.
Result<void> look_and_lease(const ModelInferRequest& request, ModelServer& server, const InferTerms& terms,
                            AdmittedInfer& admitted) {
  const InferRequest& checked = admitted.request;
  // The lease of an earlier attempt must not count as taken.
  admitted.lease = {};
  admitted.blocks->clear();
  Result<JobEstimate> estimate = server.estimate(admitted.model.name, admitted.model.version, checked.volume,
                                                 checked.parameters.output_type, checked.batch);
  if (!estimate) return is_loaded_still(server, admitted.model) ? estimate.error() : was_reloaded(admitted.model);
  if (estimate->output.f != admitted.model.f_out) return was_reloaded(admitted.model);
  admitted.estimate = *std::move(estimate);
  admitted.output = {admitted.estimate.output.f, admitted.estimate.output.n, checked.parameters.output_type,
                     VolumeOrder::channel_major};
  if (Result<void> found = find_regions(terms, admitted); !found) return found;
  if (admitted.output_regions.empty()) {
    Result<void> fits = check_response_size(admitted, response_bytes(admitted), terms.max_response_bytes);
    if (!fits) return fits;
  }
  const std::int64_t bytes = transport_bytes(request, admitted);
  admitted.held_bytes = add(bytes, slab_bytes(admitted));
  if (terms.wanted_bytes != nullptr) *terms.wanted_bytes = admitted.held_bytes;
  admitted.lease_bytes = bytes_to_lease(terms, admitted, bytes);
  if (admitted.lease_bytes > 0) {
    Result<TransportLease> lease = server.lease(admitted.lease_bytes);
    if (!lease) return lease.error().within("model " + in_quotes(admitted.model.name));
    admitted.lease = *std::move(lease);
  }
  const Result<void> reserved = reserve_blocks(admitted);
  return reserved ? reserved : reserved.error().within("model " + in_quotes(admitted.model.name));
}

// Part [first, first + count) of a batch, each a job, from `input` to the voxels of `response`, which hold the whole
// batch.
class InferJobs {
 public:
  InferJobs(const AdmittedInfer& admitted, std::span<const std::byte> input, ModelInferResponse& response,
            SlabBlocks& blocks)
      : admitted_(admitted), input_(input), response_(response), blocks_(blocks) {}

  [[nodiscard]] std::vector<VolumeJob> make(std::int64_t first, std::int64_t count) {
    const std::int64_t input_step = volume_bytes(admitted_.request.volume);
    outputs_.clear();
    std::vector<VolumeJob> jobs;
    for (std::int64_t i = first; i < first + count; ++i) {
      ChannelOutput& output = outputs_.emplace_back(admitted_.output, channels_of(i), blocks_);
      jobs.push_back(make_job({input_.data() + i * input_step, admitted_.request.volume}, admitted_, output));
    }
    return jobs;
  }
  [[nodiscard]] bool complete() const {
    return std::all_of(outputs_.begin(), outputs_.end(), [](const ChannelOutput& output) { return output.complete(); });
  }

 private:
  // Returns the place of each channel of one job.
  [[nodiscard]] std::vector<std::byte*> channels_of(std::int64_t job) const {
    std::vector<std::byte*> channels(static_cast<std::size_t>(admitted_.output.f), nullptr);
    int number = 0;
    for (const RequestedOutput& output : admitted_.request.outputs) {
      std::string& raw = *response_.mutable_raw_output_contents(number++);
      const std::int64_t step = job_bytes(admitted_, output);
      std::byte* const begin = reinterpret_cast<std::byte*>(raw.data()) + job * step;
      for (std::int64_t j = 0; j < output.channels; ++j) {
        channels[static_cast<std::size_t>(output.first_channel + j)] = begin + j * (step / output.channels);
      }
    }
    return channels;
  }

  const AdmittedInfer& admitted_;
  const std::span<const std::byte> input_;
  ModelInferResponse& response_;
  SlabBlocks& blocks_;
  std::deque<ChannelOutput> outputs_;  // where they stay
};

}  // namespace

std::int64_t output_voxels(const AdmittedInfer& admitted) {
  return mul(admitted.request.batch, voxels(admitted.output.n));
}

Result<AdmittedInfer> admit_infer(const ModelInferRequest& request, ModelServer& server, const InferTerms& terms) {
  if (Result<void> legal = check_version(request.model_name(), request.model_version()); !legal) return legal.error();
  Result<ModelInfo> model = server.find(request.model_name(), request.model_version());
  if (!model) return model.error();
  Result<InferRequest> checked = check_infer_request(request, *model);
  if (!checked) return checked.error();
  const Result<void> fits = check_request_size(*model, request_bytes(*checked), terms.max_request_bytes);
  if (!fits) return fits.error();

  AdmittedInfer admitted;
  admitted.model = *std::move(model);
  admitted.request = *std::move(checked);
  admitted.blocks = std::make_unique<SlabBlocks>(server);
  const Result<void> found = find_room([&] { return look_and_lease(request, server, terms, admitted); });
  return found ? Result<AdmittedInfer>(std::move(admitted)) : found.error();
}

Result<JobStatistics> run_infer(const ModelInferRequest& request, AdmittedInfer& admitted, ModelServer& server,
                                const std::stop_token& stop, const InferEvents& events, ModelInferResponse& response) {
  const std::unique_ptr<SlabBlocks> blocks = std::move(admitted.blocks);
  Bytes copied;
  const Result<std::span<const std::byte>> input =
      input_view(request, admitted.request, admitted.input_regions, copied);
  if (!input) return input.error().within("model " + in_quotes(admitted.model.name));
  response.set_model_name(admitted.model.name);
  response.set_model_version(admitted.model.version);
  response.set_id(request.id());
  add_outputs(admitted, response);
  InferJobs parts(admitted, *input, response, *blocks);
  JobStatistics all;
  const std::int64_t most = std::max(admitted.together, max_jobs(admitted.output.f));
  for (std::int64_t i = 0; i < admitted.request.batch; i += most) {
    std::vector<VolumeJob> jobs = parts.make(i, std::min(most, admitted.request.batch - i));
    if (i == 0) jobs.front().account.in_turn = events.in_turn;
    for (VolumeJob& job : jobs) job.account.gained = events.gained;
    jobs.front().account.held_bytes = admitted.held_bytes;
    const Result<JobStatistics> done = server.run_all(admitted.model.name, admitted.model.version, std::move(jobs),
                                                      static_cast<std::size_t>(admitted.together), stop);
    if (!done) return done;
    if (!parts.complete()) return Error{ErrorCode::internal, "the engine left out planes of the output"};
    all += *done;
  }
  if (!all.fallback.empty()) (*response.mutable_parameters())["fallback"].set_string_param(all.fallback);
  if (all.replaced > 0) (*response.mutable_parameters())["nonfinite_voxels"].set_int64_param(all.replaced);
  if (Result<void> handed = hand_over(admitted, response); !handed) return handed.error();
  return all;
}

}  // namespace znni::rpc
