// Tells a client what a stream of znni.v1.Volumes would be, and in which parts its volume is best sent.
#pragma once

#include <stop_token>

#include "primitives/core/result.hpp"
#include "proto/volumes.pb.h"
#include "server/jobs/model_server.hpp"

namespace znni::rpc {

// Foretells a stream. Fails as the stream would on a server without other jobs. A volume that its model wants as a
// whole is one part. Fails with `cancelled` if `stop` came first.
[[nodiscard]] Result<v1::VolumeOutlook> volume_outlook(v1::VolumeHeader header, const ModelServer& models,
                                                       const std::stop_token& stop = {});

}  // namespace znni::rpc
