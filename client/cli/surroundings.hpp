// Finds the part of a volume from which a network computes a box of its output as it would from the whole volume.
//
// A network that pads puts zeros around the part that it is given. So a box is exact if the voxels on which it depends
// lie within that part, or end at the volume's own border. Strides must also begin where they do in the volume, at
// multiples of the period. If a network is bound to its window, the part has all windows in which the box lies, at
// their places in the volume. The Python client computes the same (client/python/znni/surroundings.py).
#pragma once

#include "client/cpp/connection.hpp"
#include "client/files/bbox.hpp"

namespace znni::client {

// Returns the box of a volume of extent `volume` to give the model for `region` of its output. The model writes voxel
// `p` of the region at `p - start` of the output of that box.
[[nodiscard]] Box read_for(const Box& region, Vec3 volume, const ModelFacts& model);

}  // namespace znni::client
