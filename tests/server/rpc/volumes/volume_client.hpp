// A client of the Volumes stream, step by step, and what it sends.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/volumes.grpc.pb.h"
#include "server/rpc/volumes/volume_upload.hpp"
#include "tests/server/rpc/loopback.hpp"

namespace znni::rpc {

// Returns the header of a legal stream for model "twice".
inline v1::VolumeRequest header(Vec3 n = {6, 5, 4}, const std::string& datatype = "FP32") {
  v1::VolumeRequest request;
  v1::VolumeHeader& header = *request.mutable_header();
  header.set_model_name("twice");
  header.set_id("volume-1");
  header.set_datatype(datatype);
  header.set_channels(1);
  header.mutable_extent()->set_z(n.z);
  header.mutable_extent()->set_y(n.y);
  header.mutable_extent()->set_x(n.x);
  return request;
}

inline v1::VolumeRequest chunk(std::int64_t offset, const std::string& data) {
  v1::VolumeRequest request;
  request.mutable_chunk()->set_offset(offset);
  request.mutable_chunk()->set_data(data);
  return request;
}

// One client of the stream.
struct VolumeClient {
  explicit VolumeClient(v1::Volumes::Stub& stub) : stream(stub.Infer(&context)) {}

  void send(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += max_chunk_bytes) {
      if (!stream->Write(chunk(static_cast<std::int64_t>(at), bytes.substr(at, max_chunk_bytes)))) return;
    }
    stream->WritesDone();
  }
  // Reads to the end of the stream.
  grpc::Status finish() {
    v1::VolumeResponse response;
    while (stream->Read(&response)) {
      if (response.has_chunk()) {
        EXPECT_EQ(response.chunk().offset(), static_cast<std::int64_t>(received.size()));
        EXPECT_FALSE(done.has_value());
        received += response.chunk().data();
      }
      if (response.has_progress()) progress.push_back(response.progress());
      if (response.has_done()) done = response.done();
    }
    return stream->Finish();
  }

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::VolumeRequest, v1::VolumeResponse>> stream;
  std::string received;
  std::vector<v1::VolumeProgress> progress;
  std::optional<v1::VolumeDone> done;
};

// The server with a stub of the service.
class VolumesLoopback : public Loopback {
 protected:
  void SetUp() override {
    Loopback::SetUp();
    stub_ = v1::Volumes::NewStub(channel_);
  }
  static std::string voxels_of(Vec3 n, ElementType type = ElementType::f32) {
    return input_bytes({1, n, type, VolumeOrder::plane_major});
  }
  void expect_alive(Vec3 n = {6, 5, 4}) {
    VolumeClient client(*stub_);
    client.stream->Write(header(n));
    client.send(voxels_of(n));
    const grpc::Status status = client.finish();
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(is_twice(client.received, {2, n - Vec3::cube(2), ElementType::f32, VolumeOrder::plane_major}));
  }
  void expect_refused(const std::vector<v1::VolumeRequest>& requests, grpc::StatusCode code, const std::string& part) {
    VolumeClient client(*stub_);
    for (const v1::VolumeRequest& request : requests) client.stream->Write(request);
    client.stream->WritesDone();
    const grpc::Status status = client.finish();
    EXPECT_EQ(status.error_code(), code);
    EXPECT_THAT(status.error_message(), testing::HasSubstr(part));
    EXPECT_FALSE(client.done.has_value());
    EXPECT_EQ(models_.leased(), 0);
  }

  std::unique_ptr<v1::Volumes::Stub> stub_;
};

}  // namespace znni::rpc
