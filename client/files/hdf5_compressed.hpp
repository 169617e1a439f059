// HDF5 outputs in compressed chunks: shuffle and gzip. The library would write its index of such chunks at times of its
// own choosing. A kill in between would leave a file that cannot be opened. So the chunks are gathered in a file that
// only grows, and finish() makes the dataset of them.
#pragma once

#include <stop_token>

#include "client/files/files.hpp"

namespace znni::client {

// Opens an output like open_target_in_parts(). Planes of a part come in order. Holds one layer of chunks of a part in
// memory. The HDF5 file is open, so that no other program writes it, but gets no voxels before finish(), which needs as
// much disk space again. `stop` ends finish() with `cancelled`; a later run can finish it.
[[nodiscard]] Result<VolumeTarget> open_hdf5_compressed(const FileName& name, const VolumeFacts& facts, bool goes_on,
                                                        std::stop_token stop);

}  // namespace znni::client
