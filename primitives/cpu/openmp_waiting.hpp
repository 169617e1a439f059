// How the threads inside oneDNN wait for work.
#pragma once

namespace znni::cpu {

// GCC's OpenMP lets its threads spin for some 10 ms after each of oneDNN's layers, on processors that the next layer's
// workers want, and reads from the environment alone, before main(), that they should sleep. So this starts the program
// anew, once, with OMP_WAIT_POLICY=passive: the first thing main() does, with its own `arguments`, ended by nullptr.
// Returns where the environment says how to wait (OMP_WAIT_POLICY or GOMP_SPINCOUNT), or where that cannot be done,
// as in a program that was started by naming the dynamic loader.
void let_openmp_sleep(char* const* arguments);

}  // namespace znni::cpu
