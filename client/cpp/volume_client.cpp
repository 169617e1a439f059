#include "client/cpp/volume_client.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "proto/volumes.grpc.pb.h"

namespace znni::client {
namespace {

constexpr std::int64_t chunk_bytes = 1 << 20;
constexpr std::chrono::seconds reply_time{10};
using Stream = grpc::ClientReaderWriter<v1::VolumeRequest, v1::VolumeResponse>;

Vec3 to_vec3(const v1::Extent& extent) { return {extent.z(), extent.y(), extent.x()}; }

v1::VolumeHeader header_of(const VolumeRequest& request) {
  v1::VolumeHeader header;
  header.set_model_name(request.model);
  header.set_model_version(request.version);
  header.set_datatype(request.datatype);
  header.set_channels(request.channels);
  header.mutable_extent()->set_z(request.n.z);
  header.mutable_extent()->set_y(request.n.y);
  header.mutable_extent()->set_x(request.n.x);
  header.set_output_datatype(request.output_datatype);
  header.set_normalised(request.normalised);
  header.set_first_plane(request.first_plane);
  header.set_resume_token(request.resume_token);
  return header;
}

// Sends the input: reads planes and cuts them into chunks. Stops if the stream has ended or reading failed.
class Uploader {
 public:
  Uploader(Stream& stream, grpc::ClientContext& context, const VolumeRequest& request, const VolumeHandlers& handlers)
      : stream_(stream), context_(context), request_(request), handlers_(handlers) {}

  void run() {
    const std::int64_t row = mul(request_.n.x, datatype_bytes(request_.datatype));
    const auto bytes = static_cast<std::size_t>(mul(mul(request_.n.y, row), request_.channels));
    const bool whole = bytes <= chunk_bytes;  // a plane fits in one message: it is read into the message itself
    std::vector<std::byte> plane(whole ? 0 : bytes);
    offset_ = mul(request_.first_plane, static_cast<std::int64_t>(bytes));
    for (std::int64_t z = request_.first_plane; z < request_.n.z; ++z) {
      const std::span<std::byte> to = whole ? std::as_writable_bytes(std::span(data(bytes))) : std::span(plane);
      if (Result<void> done = handlers_.read(z, to); !done) return fail(done.error());
      if (!(whole ? send_chunk() : send(plane))) return;  // the daemon ended the stream; its status says why
    }
    stream_.WritesDone();
  }

  // Returns the error of `read`, if any. Requires that run() has returned.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  // Returns the buffer of the next chunk, resized to `bytes`.
  std::string& data(std::size_t bytes) {
    std::string& data = *message_.mutable_chunk()->mutable_data();
    data.resize(bytes);
    return data;
  }
  bool send_chunk() {
    message_.mutable_chunk()->set_offset(offset_);
    offset_ += std::ssize(message_.chunk().data());
    return stream_.Write(message_);
  }
  bool send(std::span<const std::byte> plane) {
    for (std::size_t at = 0; at < plane.size(); at += chunk_bytes) {
      const std::size_t count = std::min<std::size_t>(chunk_bytes, plane.size() - at);
      std::memcpy(data(count).data(), plane.data() + at, count);
      if (!send_chunk()) return false;
    }
    return true;
  }
  void fail(const Error& error) {
    error_ = error;
    context_.TryCancel();
  }

  Stream& stream_;
  grpc::ClientContext& context_;
  const VolumeRequest& request_;
  const VolumeHandlers& handlers_;
  v1::VolumeRequest message_;
  std::int64_t offset_ = 0;
  std::optional<Error> error_;
};

// Receives the output: gathers chunks into planes and checks that none is missing.
class Downloader {
 public:
  Downloader(const VolumeHandlers& handlers, std::int64_t first_plane)
      : handlers_(handlers), first_plane_(first_plane), planes_(first_plane) {}

  Result<void> take(const v1::VolumeResponse& message) {
    switch (message.message_case()) {
      case v1::VolumeResponse::kAccepted: return accept(message.accepted());
      case v1::VolumeResponse::kChunk: return gather(message.chunk());
      case v1::VolumeResponse::kProgress: return report(message.progress());
      case v1::VolumeResponse::kDone: return finish(message.done());
      case v1::VolumeResponse::MESSAGE_NOT_SET: return {};
    }
    return {};
  }
  [[nodiscard]] const std::optional<StreamSummary>& summary() const { return summary_; }

 private:
  Result<void> accept(const v1::VolumeAccepted& accepted) {
    if (plane_bytes_ > 0) return Error{ErrorCode::internal, "the daemon accepted twice"};
    accepted_ = {accepted.channels(), to_vec3(accepted.extent()),   accepted.datatype(),     to_vec3(accepted.patch()),
                 accepted.patches(),  accepted.predicted_seconds(), accepted.resume_token(), accepted.model_token()};
    const std::int64_t row = mul(accepted_.n.x, datatype_bytes(accepted_.datatype));
    plane_bytes_ = mul(mul(accepted_.n.y, row), accepted_.channels);
    if (plane_bytes_ <= 0 || accepted_.n.z <= 0)
      return Error{ErrorCode::internal, "the daemon accepted with an empty output"};
    received_ = mul(first_plane_, plane_bytes_);
    return handlers_.accepted(accepted_);
  }
  Result<void> gather(const v1::VolumeChunk& chunk) {
    if (plane_bytes_ <= 0) return Error{ErrorCode::internal, "the daemon sent output before it accepted"};
    if (chunk.offset() != received_) {
      return Error{ErrorCode::internal, "output chunk at byte " + std::to_string(chunk.offset()) + ", expected " +
                                            std::to_string(received_)};
    }
    if (add(received_, static_cast<std::int64_t>(chunk.data().size())) > mul(plane_bytes_, accepted_.n.z)) {
      return Error{ErrorCode::internal, "the daemon sent more than the accepted output"};
    }
    received_ += std::ssize(chunk.data());
    return write_planes(std::as_bytes(std::span(chunk.data())));
  }
  // Passes planes to `write`: those that a chunk holds in full from the chunk itself, others once they are assembled.
  Result<void> write_planes(std::span<const std::byte> bytes) {
    const auto size = static_cast<std::size_t>(plane_bytes_);
    while (plane_.size() + bytes.size() >= size) {
      const std::size_t missing = size - plane_.size();
      if (!plane_.empty())
        plane_.insert(plane_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(missing));
      const std::span<const std::byte> plane = plane_.empty() ? bytes.first(size) : std::span<const std::byte>(plane_);
      if (Result<void> done = handlers_.write(planes_++, plane); !done) return done;
      plane_.clear();
      bytes = bytes.subspan(missing);
    }
    plane_.insert(plane_.end(), bytes.begin(), bytes.end());
    return {};
  }
  Result<void> report(const v1::VolumeProgress& progress) {
    if (!handlers_.progress) return {};
    handlers_.progress({progress.patches_done(), progress.patches(), progress.planes_done(), progress.part()});
    return {};
  }
  Result<void> finish(const v1::VolumeDone& done) {
    if (plane_bytes_ <= 0 || planes_ != accepted_.n.z || done.bytes() != received_ - mul(first_plane_, plane_bytes_)) {
      return Error{ErrorCode::internal, "the daemon sent " + std::to_string(planes_) + " of " +
                                            std::to_string(accepted_.n.z) + " output planes"};
    }
    summary_ = {done.bytes(), done.seconds(), done.voxels_per_second(), done.nonfinite_voxels()};
    return {};
  }

  const VolumeHandlers& handlers_;
  Accepted accepted_;
  std::vector<std::byte> plane_;  // first bytes of the next plane
  std::int64_t plane_bytes_ = 0;
  const std::int64_t first_plane_;
  std::int64_t received_ = 0;  // bytes from the start of the output, including those of an earlier stream
  std::int64_t planes_;
  std::optional<StreamSummary> summary_;
};

// Reads to the end of the stream and returns the first error of a handler. That error cancels the call; messages after
// it are dropped.
std::optional<Error> receive(Stream& stream, grpc::ClientContext& context, Downloader& downloader) {
  std::optional<Error> error;
  v1::VolumeResponse message;
  while (stream.Read(&message)) {
    if (error) continue;
    if (Result<void> taken = downloader.take(message); !taken) {
      error = taken.error();
      context.TryCancel();
    }
  }
  return error;
}

}  // namespace

Result<StreamSummary> infer(const Connection& connection, const VolumeRequest& request, const VolumeHandlers& handlers,
                            std::stop_token stop) {
  grpc::ClientContext context;
  connection.identify(context);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const auto stub = v1::Volumes::NewStub(connection.channel());
  const auto stream = stub->Infer(&context);
  Downloader downloader(handlers, request.first_plane);
  Uploader uploader(*stream, context, request, handlers);
  v1::VolumeRequest first;
  *first.mutable_header() = header_of(request);
  stream->Write(first);
  std::thread upload([&uploader] { uploader.run(); });
  const std::optional<Error> error = receive(*stream, context, downloader);
  upload.join();
  const grpc::Status status = stream->Finish();
  if (error) return *error;
  if (uploader.error()) return *uploader.error();
  if (stop.stop_requested()) return Error{ErrorCode::cancelled, "interrupted"};
  if (!status.ok()) return connection.to_error(status, context);
  if (!downloader.summary())
    return Error{ErrorCode::unavailable, "the daemon ended the stream before the output was complete"};
  return *downloader.summary();
}

Result<StreamOutlook> outlook(const Connection& connection, const VolumeRequest& request) {
  grpc::ClientContext context;
  connection.identify(context);
  context.set_deadline(std::chrono::system_clock::now() + reply_time);
  v1::VolumeOutlook answer;
  const auto stub = v1::Volumes::NewStub(connection.channel());
  const grpc::Status status = stub->Outlook(&context, header_of(request), &answer);
  if (!status.ok()) return connection.to_error(status, context);
  const StreamOutlook outlook{to_vec3(answer.part()), answer.predicted_seconds_in_parts(), answer.predicted_seconds()};
  if (!covers(outlook.part, Vec3::cube(1)) || !covers(to_vec3(answer.extent()), outlook.part)) {
    return Error{ErrorCode::internal, "the daemon names parts of " + to_string(outlook.part) + " of an output of " +
                                          to_string(to_vec3(answer.extent()))};
  }
  return outlook;
}

std::int64_t datatype_bytes(const std::string& datatype) {
  if (datatype == "UINT8") return 1;
  if (datatype == "UINT16" || datatype == "FP16") return 2;
  return datatype == "FP32" ? 4 : 0;
}

}  // namespace znni::client
