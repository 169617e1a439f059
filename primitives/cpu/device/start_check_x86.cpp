// Linked into every program: ends it with one line on a processor that lacks what the rest of the program was compiled
// for (ZNNI_ISA, x86-64-v3), where it would otherwise die of an illegal instruction. This file alone is compiled for
// any x86-64, and runs before every constructor.
#include <unistd.h>

#include <cstring>

namespace {

void say(const char* text) { static_cast<void>(write(STDERR_FILENO, text, std::strlen(text)) == 0); }

// What x86-64-v3 has of what compilers ask about; processors have all of it or lack AVX2 at least.
bool is_new_enough() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

void check_processor(int count, char** arguments, char**) {
  if (is_new_enough()) return;
  say(count > 0 ? arguments[0] : "znni");
  say(": this processor lacks AVX2, FMA or BMI2; x86-64-v3 is needed: Intel's Haswell of 2013, AMD's Excavator of 2015 "
      "or newer\n");
  _exit(1);
}

// Run before the constructors of the program and of its libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_all)(int, char**, char**) = &check_processor;

}  // namespace
