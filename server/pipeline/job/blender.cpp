#include "server/pipeline/job/blender.hpp"

#include <algorithm>

#include "server/volume/element.hpp"

namespace znni {
namespace {

// Returns floats of the sums of one channel.
std::int64_t floats_of_channel(const Shape5& output, Vec3 window) {
  return mul(std::min(window.z, output.n.z), mul(output.n.y, output.n.x));
}

}  // namespace

Blender::Blender(const Shape5& output, Vec3 window, WindowWeight weight)
    : output_(output),
      window_(window),
      weights_(window_weights(weight, window)),
      sums_(static_cast<std::size_t>(mul(output.f + 1, floats_of_channel(output, window)))) {}

std::int64_t Blender::bytes(const Shape5& output, Vec3 window) {
  const std::int64_t floats =
      znni::add(window.z + window.y + window.x, mul(output.f + 1, floats_of_channel(output, window)));
  return mul(floats, static_cast<std::int64_t>(sizeof(float)));
}

float* Blender::row(std::int64_t channel, std::int64_t z, std::int64_t y) {
  const std::int64_t planes = std::min(window_.z, output_.n.z);
  return sums_.data() + ((channel * planes + z % planes) * output_.n.y + y) * output_.n.x;
}

void Blender::add(const TensorView& window, Vec3 begin, Executor& executor) {
  ensure(window.shape.S == 1 && window.shape.f == output_.f && window.shape.n == window_, "the output of a window");
  const Vec3 first = max(Vec3{} - begin, {});
  const Vec3 last = min(window_, output_.n - begin);
  const std::int64_t planes = last.z - first.z;
  executor.parallel_for((output_.f + 1) * planes, [&](std::int64_t index, int) {
    const std::int64_t channel = index / planes;
    const std::int64_t z = first.z + index % planes;
    for (std::int64_t y = first.y; y < last.y; ++y) {
      const float* const along = weights_.along[2].data();
      const float row_weight = weights_.row(z, y);
      const float least = weights_.least;
      float* const sums = row(channel, begin.z + z, begin.y + y) + begin.x;
      if (channel == output_.f) {
        for (std::int64_t x = first.x; x < last.x; ++x) sums[x] += std::max(row_weight * along[x], least);
        continue;
      }
      const float* const values = window.channel(0, channel) + z * window.strides.z + y * window.strides.y;
      for (std::int64_t x = first.x; x < last.x; ++x) {
        sums[x] += std::max(row_weight * along[x], least) * values[x];
      }
    }
  });
}

void Blender::write(const OutputSlab& slab, Executor& executor) {
  const VolumeShape& shape = slab.shape;
  executor.parallel_for(shape.n.z, [&](std::int64_t plane, int) {
    const std::int64_t z = slab.first_plane + plane;
    for (std::int64_t y = 0; y < shape.n.y; ++y) {
      float* const weights = row(output_.f, z, y);
      for (std::int64_t channel = 0; channel < shape.f; ++channel) {
        float* const sums = row(channel, z, y);
        for (std::int64_t x = 0; x < shape.n.x; ++x) sums[x] /= weights[x];
        const std::int64_t at = channel * channel_stride(shape) + plane * plane_stride(shape) + y * shape.n.x;
        write_row(shape.type, sums, shape.n.x, slab.data + at * element_bytes(shape.type), 1);
        std::fill_n(sums, shape.n.x, 0.0F);
      }
      std::fill_n(weights, shape.n.x, 0.0F);
    }
  });
}

}  // namespace znni
