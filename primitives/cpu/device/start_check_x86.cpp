// Linked into every program. On a processor without the extensions for which the program was compiled (ZNNI_ISA,
// x86-64-v3), it ends the program with one line. Otherwise an illegal instruction would kill it. Only this file is
// compiled for any x86-64, and it runs before every constructor.
#include <unistd.h>

#include <cstring>

namespace {

void say(const char* text) { static_cast<void>(write(STDERR_FILENO, text, std::strlen(text)) == 0); }

// Checks the extensions of x86-64-v3 that the compiler can test. A processor that lacks any extension of that level
// also lacks AVX2.
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

// Runs before the constructors of the program and of its libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_all)(int, char**, char**) = &check_processor;

}  // namespace
