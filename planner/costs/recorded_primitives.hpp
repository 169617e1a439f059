// Primitives that this build does not have and that are known by their records alone: enough to plan for another
// machine.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "planner/costs/costs.hpp"
#include "planner/costs/machine.hpp"

namespace znni {

class RowTable;  // the records of one primitive

// Takes part in a search like any other back end; what is planned with it cannot run here.
class RecordedPrimitives {
 public:
  // Makes primitives of all records whose primitive is none of `known`. The error names the record and the fault: a
  // problem that cannot be read, no time, devices of two kinds for one primitive, more than `most` primitives.
  [[nodiscard]] static Result<RecordedPrimitives> make(const Timings& timings, const Machine& machine,
                                                       std::span<const Primitive* const> known);
  static constexpr std::size_t most = 64;  // alive at once in one process

  RecordedPrimitives();
  RecordedPrimitives(RecordedPrimitives&&) noexcept;
  RecordedPrimitives& operator=(RecordedPrimitives&&) noexcept;
  ~RecordedPrimitives();

  // Returns the back end of a device that cannot be opened.
  [[nodiscard]] const Backend& backend() const { return *backend_; }

  // Returns times of their ways by their rows: exact and interpolated times are `recorded`, or `smoothed` where noise
  // was taken out of their rows (planner/costs/likely_rows.hpp); beyond the recorded S, proportions and sizes of a kind
  // of layer (planner/costs/shape_curves.hpp) they are `model`. For all others it takes what `rest` says. This object
  // must outlive the source.
  [[nodiscard]] std::unique_ptr<CostSource> costs(std::unique_ptr<CostSource> rest) const;

 private:
  std::vector<std::unique_ptr<RowTable>> tables_;
  std::vector<const Primitive*> primitives_;
  std::unique_ptr<Backend> backend_;
};

// Records of primitives of this build, in its versions, get the time that its formula now tells for their device. What
// it told when they were written does not count. So they correct the present formulas, and so do records that a
// stranger wrote. Leaves those as they are whose way or device is not known.
[[nodiscard]] Timings with_formulas(const Timings& timings, std::span<const DeviceSpec> devices,
                                    std::span<const Primitive* const> known);

}  // namespace znni
