#include "tests/client/fake_daemon.hpp"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "primitives/core/shape.hpp"
#include "proto/inference.grpc.pb.h"
#include "proto/volumes.grpc.pb.h"

namespace znni::client {
namespace {

using Stream = grpc::ServerReaderWriter<v1::VolumeResponse, v1::VolumeRequest>;

// Returns the field of view of each model, in znnid's format.
const std::map<std::string, std::string>& fields_of_view() {
  static const std::map<std::string, std::string> fields = {
      {"crop", "3,3,3"}, {"flat", "3,5"}, {"line", "7"}, {"bound", "3,3,3"}, {"wide", "3,3,3"}};
  return fields;
}

class FakeInference final : public inference::GRPCInferenceService::Service {
 public:
  explicit FakeInference(const Habits& habits)
      : endless_rate_(habits.endless_rate),
        properties_(habits.properties),
        loading_questions_(habits.loading_questions) {}

 private:
  grpc::Status ServerReady(grpc::ServerContext*, const inference::ServerReadyRequest*,
                           inference::ServerReadyResponse* answer) override {
    answer->set_ready(true);
    return grpc::Status::OK;
  }
  grpc::Status ModelReady(grpc::ServerContext*, const inference::ModelReadyRequest* request,
                          inference::ModelReadyResponse* answer) override {
    if (!fields_of_view().contains(request->name())) return unknown(request->name());
    answer->set_ready(true);
    return grpc::Status::OK;
  }
  grpc::Status ModelMetadata(grpc::ServerContext* context, const inference::ModelMetadataRequest* request,
                             inference::ModelMetadataResponse* answer) override {
    const auto field = fields_of_view().find(request->name());
    if (field == fields_of_view().end()) return unknown(request->name());
    if (loading_questions_-- > 0) {
      context->AddTrailingMetadata("answered-by", "znnid");
      return {grpc::StatusCode::UNAVAILABLE, "model 'crop' is still loading: planning for 3 s"};
    }
    answer->set_name(field->first);
    answer->add_versions("1");
    (*answer->mutable_properties())["field_of_view"] = field->second;
    if (field->first == "bound" || field->first == "wide") {
      (*answer->mutable_properties())["window"] = field->first == "wide" ? "9,7,8" : "9,6,8";
      (*answer->mutable_properties())["padding_before"] = "1,1,1";
    }
    (*answer->mutable_properties())["predicted_voxels_per_second"] = endless_rate_;
    for (const auto& [key, value] : properties_) (*answer->mutable_properties())[key] = value;
    for (auto* tensor : {answer->add_inputs(), answer->add_outputs()}) {
      for (const int extent : {-1, 1, -1, -1, -1}) tensor->add_shape(extent);
    }
    return grpc::Status::OK;
  }
  grpc::Status RepositoryIndex(grpc::ServerContext*, const inference::RepositoryIndexRequest*,
                               inference::RepositoryIndexResponse* answer) override {
    auto* model = answer->add_models();
    model->set_name("crop");
    model->set_state("READY");
    return grpc::Status::OK;
  }
  static grpc::Status unknown(const std::string& name) {
    return {grpc::StatusCode::NOT_FOUND, "Request for unknown model: '" + name + "' is not found"};
  }

  const std::string endless_rate_;
  const std::map<std::string, std::string> properties_;
  std::atomic<int> loading_questions_;
};

// One stream. Collects the input, then answers with one voxel of each window.
class Crop {
 public:
  Crop(Stream& stream, Behaviour behaviour, std::string model_token, Vec3 of_window)
      : stream_(stream), behaviour_(behaviour), model_token_(std::move(model_token)), of_window_(of_window) {}

  grpc::Status run(const grpc::ServerContext& context) {
    v1::VolumeRequest request;
    if (!stream_.Read(&request) || !request.has_header()) return {grpc::StatusCode::INVALID_ARGUMENT, "no header"};
    if (behaviour_ == Behaviour::refuses) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "needs 9 GiB, has 1 GiB"};
    header_ = request.header();
    if (header_.first_plane() > 0 && header_.resume_token() != "token")
      return {grpc::StatusCode::FAILED_PRECONDITION, "another volume, model or plan"};
    input_.assign(static_cast<std::size_t>(header_.first_plane() * n_in().y * n_in().x * width()), '\0');
    sent_ = begin();
    accept();
    while (stream_.Read(&request)) input_ += request.chunk().data();
    while (behaviour_ == Behaviour::never_answers && !context.IsCancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (input_.size() != static_cast<std::size_t>(voxels(n_in()) * width())) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "input of " + std::to_string(input_.size()) + " bytes"};
    }
    if (behaviour_ == Behaviour::refuses_nonfinite && nonfinite() > 0) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "an input voxel is not finite"};
    }
    return answer();
  }

 private:
  [[nodiscard]] Vec3 n_in() const { return {header_.extent().z(), header_.extent().y(), header_.extent().x()}; }
  [[nodiscard]] Vec3 n_out() const { return n_in() - Vec3::cube(2); }
  // Returns the bytes of the output that an earlier stream sent.
  [[nodiscard]] std::int64_t begin() const {
    return header_.first_plane() * n_out().y * n_out().x * static_cast<std::int64_t>(sizeof(float));
  }
  [[nodiscard]] std::int64_t width() const { return header_.datatype() == "UINT8" ? 1 : 4; }

  void accept() {
    v1::VolumeResponse response;
    auto& accepted = *response.mutable_accepted();
    accepted.set_channels(1);
    accepted.set_datatype("FP32");
    accepted.set_patches(n_out().z);
    accepted.set_resume_token("token");
    accepted.set_model_token(model_token_);
    accepted.mutable_extent()->set_z(n_out().z);
    accepted.mutable_extent()->set_y(n_out().y);
    accepted.mutable_extent()->set_x(n_out().x);
    stream_.Write(response);
  }
  [[nodiscard]] float voxel(std::int64_t z, std::int64_t y, std::int64_t x) const {
    const char* at = input_.data() + ((z * n_in().y + y) * n_in().x + x) * width();
    if (width() == 1) return static_cast<float>(static_cast<unsigned char>(*at));
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  [[nodiscard]] std::int64_t nonfinite() const {
    std::int64_t count = 0;
    for (std::size_t at = 0; width() == 4 && at < input_.size(); at += 4) {
      float value = 0;
      std::memcpy(&value, input_.data() + at, sizeof value);
      count += std::isfinite(value) ? 0 : 1;
    }
    return count;
  }
  void send_plane(std::int64_t z) {
    std::string bytes;
    for (std::int64_t y = 0; y < n_out().y; ++y) {
      for (std::int64_t x = 0; x < n_out().x; ++x) {
        const float value = voxel(z + of_window_.z, y + of_window_.y, x + of_window_.x);
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
      }
    }
    if (behaviour_ == Behaviour::large_chunks) return send_some(bytes);
    // Two chunks for each plane, because a client must not take a chunk for a plane.
    send_chunk(bytes.substr(0, bytes.size() / 3));
    send_chunk(bytes.substr(bytes.size() / 3));
  }
  // Sends two and a half planes at a time.
  void send_some(const std::string& plane) {
    waiting_ += plane;
    const std::size_t chunk = 5 * plane.size() / 2;
    if (waiting_.size() < chunk) return;
    send_chunk(waiting_.substr(0, chunk));
    waiting_.erase(0, chunk);
  }
  void send_chunk(const std::string& bytes) {
    v1::VolumeResponse response;
    response.mutable_chunk()->set_offset(sent_ + (behaviour_ == Behaviour::skips_bytes ? 4 : 0));
    response.mutable_chunk()->set_data(bytes);
    stream_.Write(response);
    sent_ += static_cast<std::int64_t>(bytes.size());
  }
  grpc::Status answer() {
    const std::int64_t planes = n_out().z - (behaviour_ == Behaviour::loses_a_plane ? 1 : 0);
    for (std::int64_t z = header_.first_plane(); z < planes; ++z) {
      if (behaviour_ == Behaviour::dies_in_the_middle && z == planes / 2)
        return {grpc::StatusCode::UNAVAILABLE, "shutting down"};
      send_plane(z);
      v1::VolumeResponse progress;
      progress.mutable_progress()->set_patches_done(z + 1);
      progress.mutable_progress()->set_patches(n_out().z);
      stream_.Write(progress);
    }
    if (!waiting_.empty()) send_chunk(waiting_);
    v1::VolumeResponse done;
    done.mutable_done()->set_bytes(sent_ - begin());
    done.mutable_done()->set_seconds(0.5);
    done.mutable_done()->set_nonfinite_voxels(nonfinite());
    stream_.Write(done);
    return grpc::Status::OK;
  }

  Stream& stream_;
  Behaviour behaviour_;
  std::string model_token_;
  Vec3 of_window_;
  v1::VolumeHeader header_;
  std::string input_;
  std::string waiting_;  // to be sent
  std::int64_t sent_ = 0;
};

void set_extent(Vec3 n, v1::Extent& extent) {
  extent.set_z(n.z);
  extent.set_y(n.y);
  extent.set_x(n.x);
}

class FakeVolumes final : public v1::Volumes::Service {
 public:
  FakeVolumes(Behaviour behaviour, Habits habits) : behaviour_(behaviour), habits_(std::move(habits)) {}

  grpc::Status Infer(grpc::ServerContext* context, Stream* stream) override {
    mark_answer(*context);
    const int after = streams++ - habits_.sound_streams;
    const bool is_sound = after < 0 || after >= habits_.misbehaved_streams;
    const Behaviour now = is_sound ? Behaviour::sound : behaviour_;
    const std::string token = habits_.model_token + (now == Behaviour::is_retrained ? " again" : "");
    return Crop(*stream, now, token, habits_.voxel).run(*context);
  }
  grpc::Status Outlook(grpc::ServerContext* context, const v1::VolumeHeader* request,
                       v1::VolumeOutlook* answer) override {
    mark_answer(*context);
    if (habits_.outlook != grpc::StatusCode::OK) return {habits_.outlook, "not now"};
    if (habits_.part.z == 0) return {grpc::StatusCode::UNIMPLEMENTED, ""};
    const Vec3 n = Vec3{request->extent().z(), request->extent().y(), request->extent().x()} - Vec3::cube(2);
    set_extent(n, *answer->mutable_extent());
    set_extent(habits_.part, *answer->mutable_part());
    answer->set_predicted_seconds(9);
    answer->set_predicted_seconds_in_parts(habits_.predicted_seconds);
    return grpc::Status::OK;
  }

  std::atomic<int> streams = 0;

 private:
  void mark_answer(grpc::ServerContext& context) const {
    if (habits_.marks_answers) context.AddTrailingMetadata("answered-by", "znnid");
  }

  const Behaviour behaviour_;
  const Habits habits_;
};

}  // namespace

struct FakeDaemon::Services {
  Services(Behaviour behaviour, const Habits& habits) : inference(habits), volumes(behaviour, habits) {}
  FakeInference inference;
  FakeVolumes volumes;
};

FakeDaemon::FakeDaemon(Behaviour behaviour, const Habits& habits, const std::string& at)
    : services_(std::make_unique<Services>(behaviour, habits)) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(at.empty() ? "127.0.0.1:0" : at, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&services_->inference);
  builder.RegisterService(&services_->volumes);
  server_ = builder.BuildAndStart();
  address_ = at.empty() ? "127.0.0.1:" + std::to_string(port) : at;
}

int FakeDaemon::streams() const { return services_->volumes.streams; }

FakeDaemon::~FakeDaemon() { server_->Shutdown(std::chrono::system_clock::now()); }

}  // namespace znni::client
