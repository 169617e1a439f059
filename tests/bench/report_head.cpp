#include "tests/bench/report_head.hpp"

#include <array>
#include <cstdio>

#include "planner/base/text_table.hpp"
#include "tests/bench/report_json.hpp"

namespace znni::bench {
namespace {

using Json = nlohmann::ordered_json;

Json extents(Vec3 n) { return {n.z, n.y, n.x}; }

}  // namespace

std::string head_text(const ReportHead& head) {
  return "layer      " + to_string(LayerProblem(head.problem)) + "\nmachine    " + head.device + ", load " +
         fixed_text(head.machine.load, 2) + "\nmeasured   " + giga(head.machine.flops_per_second, 0) +
         " GFLOP/s of multiply-adds, " + giga(head.machine.read_bytes_per_second, 1) +
         " GB/s read from memory, all threads\n";
}

std::string giga(double number, int digits) { return fixed_text(number / 1e9, digits); }
std::string milliseconds(Seconds seconds) { return fixed_text(1e3 * seconds, 2); }

std::string scientific(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1e", number);
  return text.data();
}

Json head_json(const ReportHead& head) {
  const ConvProblem& problem = head.problem;
  return {{"problem", to_string(LayerProblem(problem))},
          {"f", problem.in.f},
          {"f_out", problem.f_out},
          {"k", extents(problem.k)},
          {"n", extents(problem.in.n)},
          {"S", problem.in.S},
          {"device", head.device},
          {"threads", head.threads},
          {"flops_per_second", head.machine.flops_per_second},
          {"read_bytes_per_second", head.machine.read_bytes_per_second},
          {"load", head.machine.load}};
}

}  // namespace znni::bench
