// Checks whether the header of a Volumes stream makes sense for a model. Pure; errors name model, found, expected.
#pragma once

#include <string>

#include "primitives/core/result.hpp"
#include "proto/volumes.pb.h"
#include "server/jobs/model_server.hpp"

namespace znni::rpc {

struct VolumeHead {
  VolumeShape volume;  // plane_major
  ElementType output_type = ElementType::f32;
  bool normalised = false;       // by the client
  bool whole = false;            // the model wants all of it before it begins
  int priority = 0;              // 1 goes first; 0: as usual
  std::int64_t first_plane = 0;  // of the output that is wanted; of the input that is sent
};

// Checks a header. ModelServer::estimate() compares extents with the field of view.
[[nodiscard]] Result<VolumeHead> check_volume_header(const v1::VolumeHeader& header, const ModelInfo& model);

// Names the volume as the header describes it, and the model and plan that compute it. A stream that goes on where
// another ended must have the same name.
[[nodiscard]] std::string resume_token(const v1::VolumeHeader& header, const ModelInfo& model);

// Names the model and plan alone: volumes that are parts of one another have that in common.
[[nodiscard]] std::string model_token(const ModelInfo& model);

// Checks that a stream may begin at a later plane. It shows the token of the stream before it. Fails with corrupt_file
// if that differs from `token`; with unsupported if the model wants the whole volume or its network pads along z,
// upsamples or normalises.
[[nodiscard]] Result<void> check_resume(const v1::VolumeHeader& header, const std::string& token,
                                        const ModelInfo& model);

// Writes `n` as the wire has it.
void set_extent(Vec3 n, v1::Extent& extent);

// Returns the bytes of one plane, all channels.
[[nodiscard]] std::int64_t plane_bytes(VolumeShape volume);

}  // namespace znni::rpc
