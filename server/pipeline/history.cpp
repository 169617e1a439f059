#include "server/pipeline/history.hpp"

#include <algorithm>

namespace znni {
namespace {

// Copies are shared out in pieces of this many floats: large enough to hide the handing out, small enough to balance.
constexpr std::int64_t share = 1 << 16;

// task(first, count) over [0, total) floats.
template <class Task>
void share_out(std::int64_t total, Executor& executor, const Task& task) {
  if (total <= share) return task(std::int64_t{0}, total);
  const auto one = [&](std::int64_t index, int) { task(index * share, std::min(share, total - index * share)); };
  executor.parallel_for(div_up(total, share), one);
}

// First float of image or block `piece` of a dense tensor.
float* begin_of(const TensorView& tensor, std::int64_t piece, std::int64_t blocks) {
  return tensor.data + piece / blocks * tensor.strides.S + piece % blocks * tensor.strides.f;
}

std::int64_t blocks_of(const TensorView& tensor) {
  if (tensor.format.layout == Layout::channels_last) return 1;
  return div_up(tensor.shape.f, block_width(tensor.format.layout));
}

}  // namespace

History::History(const TensorView& tensor, std::int64_t planes, std::int64_t runs, float* kept)
    : tensor_(tensor),
      planes_(planes),
      runs_(runs),
      kept_(kept),
      piece_(planes * tensor.strides.z),
      pieces_(tensor.shape.S * blocks_of(tensor)) {
  ensure(tensor.is_dense() && tensor.shape.n.z > planes, "a dense tensor has new planes behind its history");
}

void History::forget(Executor& executor) const {
  share_out(runs_ * pieces_ * piece_, executor,
            [&](std::int64_t first, std::int64_t count) { std::fill_n(kept_ + first, count, 0.0F); });
}

void History::roll(Executor& executor) {
  ensure(next_ < runs_, "a tensor is filled as often as its history has room");
  float* const kept = kept_ + next_++ * pieces_ * piece_;
  const std::int64_t blocks = blocks_of(tensor_);
  const std::int64_t new_planes = (tensor_.shape.n.z - planes_) * tensor_.strides.z;
  const auto roll_piece = [&](std::int64_t piece, int) {
    float* const begin = begin_of(tensor_, piece, blocks);
    float* const own = kept + piece * piece_;
    std::copy_n(own, piece_, begin);
    std::copy_n(begin + new_planes, piece_, own);
  };
  if (pieces_ * piece_ > share) return executor.parallel_for(pieces_, roll_piece);
  for (std::int64_t piece = 0; piece < pieces_; ++piece) roll_piece(piece, 0);
}

}  // namespace znni
