// The planes along z that one tensor of a streamed net keeps from step to step (planner/streams.hpp).
#pragma once

#include <cstdint>

#include "primitives/core/executor.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

class History {
 public:
  // `tensor`: dense, its first `planes` planes are those of earlier steps; it is filled `runs` times a step. `kept`:
  // runs times the bytes of those planes, host memory of the caller's, as `tensor`; both must outlive the history.
  History(const TensorView& tensor, std::int64_t planes, std::int64_t runs, float* kept);

  // A stream begins: what came before it is zeros.
  void forget(Executor& executor) const;
  // A step begins.
  void rewind() { next_ = 0; }
  // The tensor's new planes were just written, for the next time in this step: puts what was kept before them, and
  // keeps the last planes for the step to come.
  void roll(Executor& executor);

 private:
  TensorView tensor_;
  std::int64_t planes_;
  std::int64_t runs_;
  float* kept_;
  std::int64_t piece_;   // floats of the kept planes of one image or block, which follow each other
  std::int64_t pieces_;  // of one run
  std::int64_t next_ = 0;
};

}  // namespace znni
