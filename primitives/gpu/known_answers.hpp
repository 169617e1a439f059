// Answers that take long to find, kept by their questions.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "primitives/core/result.hpp"

namespace znni::cuda {

// Thread safe. Who asks for the same at the same time finds it twice.
template <class Question, class Answer>
class KnownAnswers {
 public:
  // Keeps at most `most` answers: one more makes it forget all before.
  explicit KnownAnswers(std::size_t most) : most_(most) {}

  // Returns the known answer, or else calls `find`, which gives a Result<Answer> and must be the same for equal
  // questions. Does not keep errors, because a lost device may come back.
  template <class Find>
  [[nodiscard]] Result<Answer> get(const Question& question, const Find& find) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(question); known != known_.end()) return known->second;
    }
    Result<Answer> answer = find();
    if (!answer) return answer;
    const std::lock_guard lock(mutex_);
    if (known_.size() >= most_) known_.clear();
    known_.insert_or_assign(question, *answer);
    return answer;
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;  // guards known_; not held while an answer is found
  std::map<Question, Answer> known_;
};

}  // namespace znni::cuda
