// Precision and recall of scores against targets of 0 and 1, at every threshold. The memory does not depend on how many
// scores there are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace znni {

// With all scores from a threshold on taken as 1, the threshold falling from bin to bin:
//   average precision = sum over the bins of precision x (recall - recall before): the area under the curve in steps;
//   F1 = 2 precision recall / (precision + recall).
struct PrecisionRecall {
  double average_precision = 0;
  double best_f1 = 0;
  double best_threshold = 0;  // scores from here on are 1: the lower end of a bin
};

// Counts scores in bins of 2^-11 from -32 to 32, those beyond in the outermost. Scores of one bin share a threshold, as
// equal scores do: of logits these are probabilities that differ by 2^-13 at most. A bin with a share s of all ones
// moves the average precision by at most s times the change of the precision within it.
class ScoreHistogram {
 public:
  ScoreHistogram();

  // Requires a score that is not NaN.
  void add(float score, bool is_one);
  // Returns nothing if no target was 1, of which there is no recall.
  [[nodiscard]] std::optional<PrecisionRecall> measure() const;

  static constexpr std::int64_t bins_per_unit = 2048;
  static constexpr std::int64_t reach = 32;
  static constexpr std::int64_t bins = 2 * reach * bins_per_unit;
  static constexpr std::int64_t bytes = 2 * bins * static_cast<std::int64_t>(sizeof(std::int64_t));

 private:
  struct Bin {
    std::int64_t zeros = 0;
    std::int64_t ones = 0;
  };
  std::vector<Bin> bins_;  // rising scores
};

}  // namespace znni
