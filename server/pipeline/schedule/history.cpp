#include "server/pipeline/schedule/history.hpp"

#include <algorithm>
#include <cstring>

#include "primitives/core/copy_past_caches.hpp"

namespace znni {
namespace {

// Copies are shared out in pieces of this many bytes: large enough to hide the handing out, small enough to balance.
constexpr std::int64_t share = 1 << 18;

// Calls task(first, count) over [0, total) bytes.
template <class Task>
void share_out(std::int64_t total, Executor& executor, const Task& task) {
  if (total <= share) return task(std::int64_t{0}, total);
  const auto one = [&](std::int64_t index, int) { task(index * share, std::min(share, total - index * share)); };
  executor.parallel_for(div_up(total, share), one);
}

std::int64_t blocks_of(const TensorView& tensor) {
  if (tensor.format.layout == Layout::channels_last) return 1;
  return div_up(tensor.shape.f, block_width(tensor.format.layout));
}

std::byte* bytes_at(float* data, std::int64_t bytes = 0) { return reinterpret_cast<std::byte*>(data) + bytes; }

// Tensors from this size on leave the caches before they are read again.
constexpr std::int64_t beyond_caches = std::int64_t{16} << 20;

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes, bool past_caches) {
  if (past_caches) return copy_past_caches(to, from, bytes);
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

TensorView view_from(const TensorView& whole, Vec3 begin) {
  const Strides& strides = whole.strides;
  const std::int64_t elements = begin.z * strides.z + begin.y * strides.y + begin.x * strides.x;
  TensorView view = whole;
  view.data = reinterpret_cast<float*>(bytes_at(whole.data, elements * element_bytes(whole.format.type)));
  view.shape.n = whole.shape.n - begin;
  return view;
}

TensorView view_within(const TensorView& whole, const Border& around) {
  TensorView view = view_from(whole, around.begin);
  view.shape.n = view.shape.n - around.end;
  return view;
}

History::History(const TensorView& tensor, std::int64_t planes, std::int64_t runs, float* kept)
    : tensor_(tensor),
      planes_(planes),
      runs_(runs),
      kept_(bytes_at(kept)),
      piece_(planes * tensor.strides.z * element_bytes(tensor.format.type)),
      pieces_(tensor.shape.S * blocks_of(tensor)),
      step_(tensor.shape.n.z * tensor.strides.z * element_bytes(tensor.format.type)) {
  ensure(tensor.is_dense() && tensor.shape.n.z > planes, "a dense tensor has new planes behind its history");
}

std::byte* History::kept_of(std::int64_t run) const {
  ensure(run < runs_, "a tensor is filled as often as its history has room");
  return kept_ + run * pieces_ * piece_;
}

void History::forget(Executor& executor) const {
  share_out(runs_ * pieces_ * piece_, executor, [&](std::int64_t first, std::int64_t count) {
    std::memset(kept_ + first, 0, static_cast<std::size_t>(count));
  });
}

// Calls task(piece, worker) for the planes of each channel or block.
template <class Task>
void History::for_each_piece(Executor& executor, const Task& task) const {
  if (pieces_ * piece_ > share) return executor.parallel_for(pieces_, task);
  for (std::int64_t piece = 0; piece < pieces_; ++piece) task(piece, 0);
}

void History::put(Executor& executor) const {
  const std::byte* const kept = kept_of(next_);
  for_each_piece(executor, [&](std::int64_t piece, int) {
    std::memcpy(bytes_at(tensor_.data, piece * step_), kept + piece * piece_, static_cast<std::size_t>(piece_));
  });
}

void History::keep(Executor& executor) {
  std::byte* const kept = kept_of(next_++);
  for_each_piece(executor, [&](std::int64_t piece, int) {
    const std::byte* const end = bytes_at(tensor_.data, (piece + 1) * step_);
    std::memcpy(kept + piece * piece_, end - piece_, static_cast<std::size_t>(piece_));
  });
}

void History::roll(Executor& executor) {
  std::byte* const kept = kept_of(next_++);
  const bool large = pieces_ * step_ >= beyond_caches;
  const auto roll_piece = [&](std::int64_t piece, int) {
    std::byte* const begin = bytes_at(tensor_.data, piece * step_);
    std::byte* const own = kept + piece * piece_;
    copy_bytes(begin, own, piece_, large);
    copy_bytes(own, begin + step_ - piece_, piece_, large);
  };
  for_each_piece(executor, roll_piece);
}

Result<void> History::forget(Accelerator& accelerator) const {
  const auto bytes = static_cast<std::size_t>(runs_ * pieces_ * piece_);
  return accelerator.fill(Stream::compute, {kept_, bytes}, std::byte{0});
}

Result<void> History::roll(Accelerator& accelerator) {
  std::byte* const kept = kept_of(next_++);
  const CopyRows put{piece_, pieces_, step_, piece_};
  const CopyRows keep{piece_, pieces_, piece_, step_};
  Result<void> done = accelerator.copy(Stream::compute, bytes_at(tensor_.data), kept, put);
  return done ? accelerator.copy(Stream::compute, kept, bytes_at(tensor_.data, step_ - piece_), keep) : done;
}

}  // namespace znni
