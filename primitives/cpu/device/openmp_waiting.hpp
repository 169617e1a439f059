// Makes the threads inside oneDNN sleep while they wait for work.
#pragma once

namespace znni::cpu {

// Restarts the program once with OMP_WAIT_POLICY=passive. Without it, GCC's OpenMP lets its threads spin for some 10 ms
// after each of oneDNN's layers, on processors that the next layer's workers need. OpenMP reads this setting only from
// the environment and only before main(). So main() must call this first, with its own `arguments`, ended by nullptr.
// Returns if the environment already says how to wait (OMP_WAIT_POLICY or GOMP_SPINCOUNT). Also returns if a restart is
// impossible, as in a program that was started by naming the dynamic loader.
//
// Measured on two processors that also had other work. cpu.conv.fft_tiled ran alternately with cpu.conv.onednn, on
// layers of 32 channels of 20^3. It takes 0.58 ms at best and 0.74 ms of processor time if threads sleep, 0.71 and 1.53
// if they spin. oneDNN's own layer takes 1.49 and 1.39 ms at best if it runs alone; a fair comparison for it needs
// GOMP_SPINCOUNT=300000. Its layer of 80 channels of 64^3 takes 0.39 and 0.40 s of processor time. The restart takes 10
// ms.
void let_openmp_sleep(char* const* arguments);

}  // namespace znni::cpu
