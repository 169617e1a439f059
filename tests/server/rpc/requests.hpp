// Requests as a stock client would send them.
#pragma once

#include <string>
#include <vector>

#include "proto/inference.pb.h"
#include "tests/server/rpc/fake_model_server.hpp"

namespace znni::rpc {

// Returns a legal request for model "twice": one raw FP32 volume of extent n, of the pattern of input_voxel().
inline inference::ModelInferRequest twice_request(Vec3 n = {6, 5, 4}, ElementType type = ElementType::f32,
                                                  const std::string& datatype = "FP32") {
  inference::ModelInferRequest request;
  request.set_model_name("twice");
  request.set_id("job-1");
  auto& input = *request.add_inputs();
  input.set_name("raw");
  input.set_datatype(datatype);
  for (const std::int64_t extent : {std::int64_t{1}, std::int64_t{1}, n.z, n.y, n.x}) input.add_shape(extent);
  request.add_raw_input_contents(input_bytes({1, n, type, VolumeOrder::channel_major}));
  return request;
}

// Returns `count` voxels of this value, as FP32.
inline std::string constant_bytes(float value, std::int64_t count) {
  const std::vector<float> values(static_cast<std::size_t>(count), value);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// Returns the same request with "mask" before "raw", whose voxels are all `value`: for a model with two inputs.
inline inference::ModelInferRequest masked_request(Vec3 n = {6, 5, 4}, float value = 1000) {
  inference::ModelInferRequest request = twice_request(n);
  *request.add_inputs() = request.inputs(0);
  request.mutable_inputs(0)->set_name("mask");
  request.add_raw_input_contents(request.raw_input_contents(0));
  request.set_raw_input_contents(0, constant_bytes(value, voxels(n)));
  return request;
}

inline ModelInfo masked_model() {
  FakeModelServer server;
  server.two_inputs = true;
  return *server.find("twice", "");
}

inline ModelInfo twice_model() { return *FakeModelServer().find("twice", ""); }

// Returns true if `bytes` at [C][Z][Y][X] (or [Z][C][Y][X]) is what "twice" gives for the pattern.
inline bool is_twice(const std::string& bytes, const VolumeShape& shape) {
  if (static_cast<std::int64_t>(bytes.size()) != volume_bytes(shape)) return false;
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  for (std::int64_t j = 0; j < shape.f; ++j) {
    for (Vec3 v; v.z < shape.n.z; ++v.z) {
      for (v.y = 0; v.y < shape.n.y; ++v.y) {
        for (v.x = 0; v.x < shape.n.x; ++v.x) {
          const float expected = static_cast<float>(j + 1) * input_voxel(v + Vec3::cube(1));
          if (voxel(data, shape, j, v) != expected) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace znni::rpc
