// How the threads inside oneDNN wait for work.
#pragma once

namespace znni::cpu {

// GCC's OpenMP lets its threads spin for some 10 ms after each of oneDNN's layers, on processors that the next layer's
// workers want, and reads from the environment alone, before main(), that they should sleep. So this starts the program
// anew, once, with OMP_WAIT_POLICY=passive: the first thing main() does, with its own `arguments`, ended by nullptr.
// Returns where the environment says how to wait (OMP_WAIT_POLICY or GOMP_SPINCOUNT), or where that cannot be done,
// as in a program that was started by naming the dynamic loader.
//
// Measured on two processors that had other work, too. Of layers of 32 images of 20^3 in turn, cpu.conv.fft_tiled
// behind cpu.conv.onednn takes 0.58 ms at best and 0.74 ms of processor time where threads sleep, 0.71 and 1.53 where
// they spin. oneDNN's own layer takes 1.49 and 1.39 ms at best where it runs alone: GOMP_SPINCOUNT=300000 is fair to it
// there. Its layer of 80 images of 64^3 takes 0.39 and 0.40 s of processor time. The second start takes 10 ms.
void let_openmp_sleep(char* const* arguments);

}  // namespace znni::cpu
