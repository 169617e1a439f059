// Finds the part of a volume from which a network computes a box of its output as it would from the whole volume.
//
// A network that pads, pads with zeros where what it is given begins. So a box is exact if what it depends on lies
// within what is given, or ends at the volume's own border; and if strides begin where they do in the volume, at
// multiples of the period. Of a network that is bound to its window, what is given has all windows that the box lies
// in, where they are in the volume. The Python client computes the same (client/python/znni/surroundings.py).
#pragma once

#include "client/cpp/connection.hpp"
#include "client/files/bbox.hpp"

namespace znni::client {

// Returns the box of a volume of extent `volume` to give the model for `region` of its output. The model writes voxel
// `p` of the region at `p - start` of the output of that box.
[[nodiscard]] Box read_for(const Box& region, Vec3 volume, const ModelFacts& model);

}  // namespace znni::client
