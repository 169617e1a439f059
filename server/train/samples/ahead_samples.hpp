// Samples made ahead: while a step computes, a thread of its own makes the sample of the next one.
#pragma once

#include <cstdint>
#include <future>

#include "server/train/samples/samples.hpp"

namespace znni {

class AheadSamples final : public SampleSource {
 public:
  // Takes samples from `source`, which outlives this and is not used otherwise meanwhile. None is made ahead for the
  // step `steps` or a later one.
  AheadSamples(SampleSource& source, std::uint64_t steps) : source_(source), steps_(steps) {}
  // Waits for the sample that is being made.
  ~AheadSamples() override = default;

  // Returns what the source has for the step, an error too, and has the next step's made while the caller goes on. If
  // the system grants no thread, that is made when it is asked for.
  [[nodiscard]] Result<Sample> sample(std::uint64_t step) override;
  // Waits until nothing is read from files: what reads them otherwise may be meant for one thread at a time.
  void rest() const;

 private:
  void make_ahead(std::uint64_t step);

  SampleSource& source_;
  std::uint64_t steps_;
  std::uint64_t step_ = 0;             // of `ahead_`
  std::future<Result<Sample>> ahead_;  // its destructor waits; not valid if nothing is made ahead
};

}  // namespace znni
