// Plans: what can be read is written and read again as the same plan.
#include <string_view>

#include "proto/convert/text/plan_text.hpp"
#include "tests/fuzz/fuzz_target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const znni::Result<znni::Plan> plan = znni::parse_plan({reinterpret_cast<const char*>(data), size});
  if (!plan) return 0;
  const znni::Result<znni::Plan> again = znni::parse_plan(znni::plan_text(*plan));
  znni::ensure(again.has_value(), "a plan that was written can be read");
  znni::ensure(znni::plan_text(*again) == znni::plan_text(*plan), "and is the same");
  return 0;
}
