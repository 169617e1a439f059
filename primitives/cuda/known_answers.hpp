// Answers that take long to find, kept by their questions.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace znni::cuda {

// Thread safe. Who asks for the same at the same time finds it twice.
template <class Question, class Answer>
class KnownAnswers {
 public:
  // No more than `most` are kept: with another one all before it are forgotten.
  explicit KnownAnswers(std::size_t most) : most_(most) {}

  // `find`, a callable that gives an Answer and is the same for every question that is equal, is called where it is not
  // known.
  template <class Find>
  [[nodiscard]] Answer get(const Question& question, const Find& find) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(question); known != known_.end()) return known->second;
    }
    Answer answer = find();
    const std::lock_guard lock(mutex_);
    if (known_.size() >= most_) known_.clear();
    known_.insert_or_assign(question, answer);
    return answer;
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;  // guards known_; not held while an answer is found
  std::map<Question, Answer> known_;
};

}  // namespace znni::cuda
