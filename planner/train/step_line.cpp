#include "planner/train/step_line.hpp"

#include <algorithm>
#include <utility>

#include "primitives/core/index.hpp"

namespace znni {

Format read_format(const StepProblem& problem, int input, const Estimate& estimate) {
  const auto* layer = std::get_if<LayerProblem>(&problem);
  return layer == nullptr ? estimate.in : input_format(*layer, input, estimate.in, estimate.out);
}

int input_number(std::string_view name, std::size_t count) {
  for (int i = 0; index(i) < count; ++i) {
    if (name == input_name(i)) return i;
  }
  return -1;
}

int StepLine::add_tensor(std::string name, const Shape5& shape, Format format) {
  tensors_.push_back({std::move(name), shape, format, -1});
  return static_cast<int>(tensors_.size()) - 1;
}

int StepLine::add_buffer(Buffer buffer) {
  while (!names_.insert(buffer.name).second) buffer.name += "'";
  memory_.push_back(std::move(buffer));
  return static_cast<int>(memory_.size()) - 1;
}

void StepLine::bring(int tensor) {
  PlacedTensor& own = tensors_[index(tensor)];
  own.buffer = add_buffer({own.name, MemorySpace::host, tensor_bytes(own.shape, own.format), Lifetime::stages(0, 0)});
}

void StepLine::add(StepCall call) {
  for (int i = 0; i < static_cast<int>(call.reads.size()); ++i) {
    const PlacedTensor& read = tensors_[index(call.reads[index(i)])];
    ensure(read.buffer >= 0, "a call reads what is there");
    ensure(read.format == read_format(call.problem, i, call.estimate), "a call reads its estimate's format");
  }
  call.first_stage = stages_;
  const int call_stages = stage_count(call.estimate.memory);
  for (const Buffer& own : call.estimate.memory) call.buffers.push_back(place(call, own, call_stages));
  stages_ += call_stages;
  calls_.push_back(std::move(call));
}

int StepLine::place(const StepCall& call, const Buffer& own, int call_stages) {
  Lifetime life = Lifetime::stages(stages_ + own.lifetime.first, stages_ + own.lifetime.last);
  if (own.lifetime.persistent) life = Lifetime::stages(stages_, stages_ + call_stages - 1);
  if (const int input = input_number(own.name, call.reads.size()); input >= 0) {
    const int tensor = call.reads[index(input)];
    lengthen(tensor, life.last);
    return tensors_[index(tensor)].buffer;
  }
  if (own.name == weights_gradient_name) return -1;
  if (own.name != output_name) {
    const std::string of = call.writes >= 0 ? tensors_[index(call.writes)].name : "weights";
    return add_buffer({of + "/" + own.name, own.space, own.bytes, life});
  }
  if (call.writes < 0) return -1;
  PlacedTensor& written = tensors_[index(call.writes)];
  ensure(written.buffer < 0 && written.format == call.estimate.out, "a tensor is written once, in its format");
  ensure(own.bytes == tensor_bytes(written.shape, written.format), "a call declares the tensor that it writes");
  life.last = stages_ + call_stages - 1;
  return written.buffer = add_buffer({written.name, own.space, own.bytes, life});
}

void StepLine::lengthen(int tensor, int stage) {
  Lifetime& life = memory_[index(tensors_[index(tensor)].buffer)].lifetime;
  life.last = std::max(life.last, stage);
}

void StepLine::keep(int tensor) { lengthen(tensor, stages_ - 1); }

void StepLine::add_persistent(std::string name, std::int64_t bytes) {
  add_buffer({std::move(name), MemorySpace::host, bytes, Lifetime::plan()});
}

}  // namespace znni
