// Tells whether a candidate geometry is out of a search, and why.
#pragma once

#include <string>
#include <vector>

#include "planner/layers/node_choice.hpp"

namespace znni {

// Returns what is known before any layer is described: the bytes of tensors alone, except those of the values
// `without`. `kernels`: bytes of the network's kernels, of which there are copies if axes are swapped.
[[nodiscard]] GeometryOptions tensors_of(const Geometry& geometry, std::int64_t kernels,
                                         const std::vector<std::size_t>& without = {});

// text() builds the message on demand.
struct CandidateVerdict {
  enum class Kind { in, illegal, undescribed, larger, memory, slower, no_combination, unpacked, stopped };
  Kind kind = Kind::in;
  std::string why;         // of illegal and undescribed
  std::int64_t bytes = 0;  // of memory: what it needs at least, beside the weights
  std::int64_t left = 0;   // and what there is
  double rate = 0;         // of slower: voxels per second that it does not reach

  CandidateVerdict() = default;
  explicit CandidateVerdict(Kind of, std::string words = "") : kind(of), why(std::move(words)) {}
  static CandidateVerdict slower(double voxels_per_second);
  // Returns the verdict `memory` if what is known of a geometry's bytes already breaks a limit.
  static CandidateVerdict of_bytes(const GeometryOptions& options, const ChoiceLimits& limits);

  [[nodiscard]] bool is_in() const { return kind == Kind::in; }
  // Returns one line; "" if the candidate is in.
  [[nodiscard]] std::string text() const;
};

}  // namespace znni
