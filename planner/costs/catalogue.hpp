// The primitives a search or a run may use: the tables of several back ends under one roof, filtered by
// --enable, --disable and --precision.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/core/precision.hpp"

namespace znni {

class Catalogue {
 public:
  // Makes a catalogue of the primitives of `backends`. `enable`: names or prefixes ending in '*'; empty means all.
  // `disable` is applied after it. A name that matches nothing is an error, and so are two primitives of one name.
  // Reorders are always kept. `coarsest`: no primitive is kept that always computes coarser.
  [[nodiscard]] static Result<Catalogue> make(std::span<const Backend* const> backends,
                                              const std::vector<std::string>& enable = {},
                                              const std::vector<std::string>& disable = {},
                                              Precision coarsest = Precision::fp32);
  // Returns the catalogue without the primitives that always compute coarser.
  [[nodiscard]] Catalogue within(Precision coarsest) const;

  [[nodiscard]] std::span<const Primitive* const> primitives() const { return primitives_; }
  // Returns the primitive of that name; nullptr if there is none.
  [[nodiscard]] const Primitive* find(std::string_view name) const;
  // Returns names and versions, "a:1 b:2", sorted.
  [[nodiscard]] std::string fingerprint() const;

  // Returns the estimate of primitive `name` for `problem` that has this variant and these formats. By it a plan's step
  // finds its description again.
  [[nodiscard]] Result<Estimate> find_estimate(std::string_view name, const LayerProblem& problem,
                                               const DeviceSpec& spec, const Variant& variant, Format in,
                                               Format out) const;

 private:
  std::vector<const Primitive*> primitives_;
};

}  // namespace znni
