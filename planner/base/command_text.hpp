// Writes a command line as people can type it again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace znni {

// Joins the program's name and its arguments, and quotes those that a shell would read otherwise: "planner --model 'my
// net.onnx'".
[[nodiscard]] std::string command_text(std::string_view program, const std::vector<std::string>& arguments);

}  // namespace znni
